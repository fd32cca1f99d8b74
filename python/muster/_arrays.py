"""The part of arrays' ways that is not worth being fast."""

from __future__ import annotations

import ast
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from muster import _core

AnyArray = npt.NDArray[Any]

_BF16 = 11


def _bfloat16() -> np.dtype[Any]:
    """Numpy has no such type. Who has ml_dtypes gets its; else it is a field of that name."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype([("bfloat16", "<u2")])
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


_NAMES = "? i1 u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <u2 <f4 <f8 <c8 <c16".split()
#: By the number that travels; 0 is none.
DTYPES: list[np.dtype[Any] | None] = [None, *(np.dtype(name) for name in _NAMES)]
DTYPES[_BF16] = _bfloat16()

_CODES = {dtype: code for code, dtype in enumerate(DTYPES) if dtype is not None}


def freeze(array: AnyArray) -> list[AnyArray]:
    """Nobody may write to what is being sent, not by way of what `array` is a part of either.

    Gives those that could be written before.
    """
    frozen: list[AnyArray] = []
    part: Any = array
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            part.flags.writeable = False
            frozen.append(part)
        part = part.base
    return frozen


def thaw(frozen: list[AnyArray]) -> None:
    """What :func:`freeze` gave, once its memory can be written again."""
    for part in reversed(frozen):
        part.flags.writeable = True


def is_more_than_array(array: AnyArray) -> bool:
    """Whether its class says more than its elements do; a file's or a record's array does not."""
    return type(array) not in (np.ndarray, np.memmap, np.recarray)


def _is_registered(dtype: np.dtype[Any]) -> bool:
    """Whether it, or a part of it, is a type that another package has brought to numpy."""
    if dtype.subdtype is not None:
        return _is_registered(dtype.subdtype[0])
    if dtype.fields is not None:
        return any(_is_registered(field[0]) for field in dtype.fields.values())
    return dtype.isbuiltin == 2


def can_be_described(dtype: np.dtype[Any]) -> bool:
    """Whether the other end knows it by what :func:`describe` says. Of a type of ml_dtypes numpy
    only says how many bytes it has."""
    return dtype in _CODES or not _is_registered(dtype)


def _to_description(dtype: np.dtype[Any]) -> Any:
    """What says the dtype in literals: numpy's own way, or a dict for fields in another order."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return _to_description(base), shape
    try:
        return np.lib.format.dtype_to_descr(dtype)
    except ValueError:
        pass
    fields = [dtype.fields[name] for name in dtype.names or ()] if dtype.fields else []
    return {
        "names": list(dtype.names or ()),
        "formats": [_to_description(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "itemsize": dtype.itemsize,
    }


def _to_dtype(said: Any) -> np.dtype[Any]:
    if isinstance(said, tuple) and len(said) == 2:
        return np.dtype((_to_dtype(said[0]), said[1]))
    made: np.dtype[Any]
    if isinstance(said, dict):
        fields: Any = {**said, "formats": [_to_dtype(one) for one in said["formats"]]}
        made = np.dtype(fields)
    else:
        made = np.lib.format.descr_to_dtype(said)
    return made


def describe(array: AnyArray) -> tuple[int | str, tuple[int, ...], AnyArray]:
    """The dtype, the shape, and the elements in C order, as bytes.

    Raises ValueError for a dtype that cannot be described.
    """
    if not can_be_described(array.dtype):
        raise ValueError(
            f"an array of {array.dtype} cannot be described; send array.view('u1'), and the dtype"
        )
    is_number = array.dtype.isbuiltin or array.dtype.kind in "biufc"
    dtype = array.dtype.newbyteorder("<") if is_number else array.dtype
    plain = np.asarray(array, dtype=dtype, order="C")
    code: int | str | None = _CODES.get(plain.dtype)
    if code is None:
        code = repr(_to_description(plain.dtype))
    flat = plain.reshape(-1)
    if flat.dtype.itemsize == 0:
        return code, array.shape, np.empty(0, np.uint8)
    return code, array.shape, flat.view(np.dtype((np.void, flat.dtype.itemsize))).view(np.uint8)


def restore(description: str, shape: tuple[int, ...], memory: _core.Memory) -> AnyArray:
    """What :func:`describe` has described. Raises ValueError for what it never says."""
    dtype = _to_dtype(ast.literal_eval(description))
    if dtype.hasobject:
        raise ValueError("an array of objects does not travel without a pickle")
    array: AnyArray = np.ndarray(shape, dtype, cast(memoryview, memory))
    if array.nbytes != len(memory):
        raise ValueError("an array whose shape does not fit its bytes")
    return array


def plain(scalar: Any) -> Any:
    """A number of numpy's as Python's own; itself if there is no such."""
    item = scalar.item() if not isinstance(scalar, np.datetime64 | np.timedelta64) else scalar
    return item if isinstance(item, bool | int | float | str | bytes) else scalar


def _from_torch(tensor: Any) -> AnyArray | tuple[int, AnyArray]:
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        bits: AnyArray = tensor.view(torch.int16).numpy()
        return _BF16, bits
    array: AnyArray = tensor.resolve_conj().resolve_neg().numpy()
    return array


def from_foreign(thing: Any) -> AnyArray | tuple[int, AnyArray] | None:
    """An array on the memory of whatever shows it; none if that cannot be an array."""
    if type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "detach"):
        return _from_torch(thing)
    if hasattr(thing, "__dlpack__"):
        try:
            return np.from_dlpack(thing)
        except (BufferError, RuntimeError, TypeError):
            pass
    try:
        view = memoryview(thing)
    except TypeError:
        return None
    array: AnyArray = np.asarray(view)
    return None if array.dtype.hasobject else array


def combine(function: Any, left: AnyArray, right: AnyArray) -> AnyArray:
    """What a reduction's function makes of two arrays, as such an array."""
    made: AnyArray = np.ascontiguousarray(function(left, right), left.dtype)
    if made.shape != left.shape:
        raise ValueError(f"a reduction made {made.shape} of two arrays of {left.shape}")
    return made
