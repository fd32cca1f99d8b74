"""How ranks tell each other what an array that they share looks like."""

from __future__ import annotations

import ast
from typing import Any, cast

import numpy as np

from muster import _core
from muster._arrays import DTYPES, AnyArray, is_more_than_array
from muster._arrays import restore as restore_bytes
from muster.errors import InvalidError

_SIZE = 1024


def _why_not(array: AnyArray) -> str | None:
    if not isinstance(array, np.ndarray):
        return f"what is shared is a numpy array, not a {type(array).__name__}"
    if array.dtype.hasobject:
        return "an array of objects cannot be read by another process; send it in a message"
    if is_more_than_array(array):
        name = type(array).__name__
        return f"of a {name} only the elements would arrive; share numpy.asarray() of its parts"
    return None


def describe(array: AnyArray | None) -> tuple[AnyArray, _core.Memory | None]:
    """Its dtype and shape, in a block that is as long on all ranks, and its memory.

    Or why it cannot be shared: all ranks are to hear of that.
    """
    if array is None:
        return _header(""), None
    if why := _why_not(array):
        return _header(repr(why)), None
    try:
        dtype, shape, memory = _core.Communicator._describe(array)
    except Exception as raised:
        why = f"{type(raised).__name__}: {raised}"[: _SIZE // 8]
        return _header(repr(why)), None
    text = repr((dtype, tuple(shape)))
    if len(text.encode()) > _SIZE:
        return _header(repr("its dtype takes a page to describe")), None
    return _header(text), memory


def _header(text: str) -> AnyArray:
    header = np.zeros(_SIZE, np.uint8)
    said = text.encode()[:_SIZE]
    header[: len(said)] = np.frombuffer(said, np.uint8)
    return header


def check(header: AnyArray, rank: int) -> None:
    """Raises, on every rank, if that one's array cannot be shared."""
    said = _read(header)
    if said is None:
        raise InvalidError(f"share: rank {rank} has given no array")
    if isinstance(said, str):
        raise InvalidError(f"share the array of rank {rank}: {said}")


def _read(header: AnyArray) -> Any:
    text = header.tobytes().rstrip(b"\0").decode()
    return ast.literal_eval(text) if text else None


def restore(header: AnyArray, memory: _core.Memory) -> AnyArray:
    """The array that its rank has described."""
    dtype, shape = _read(header)
    if isinstance(dtype, str):
        return restore_bytes(dtype, shape, memory)
    return np.ndarray(shape, DTYPES[dtype], cast(memoryview, memory))
