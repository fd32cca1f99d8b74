"""How ranks tell each other what an array that they share looks like."""

from __future__ import annotations

import ast
from typing import cast

import numpy as np

from muster import _core
from muster._arrays import DTYPES, AnyArray
from muster._arrays import restore as restore_bytes
from muster.errors import InvalidError

_SIZE = 1024


def describe(array: AnyArray | None) -> tuple[AnyArray, _core.Memory | None]:
    """Its dtype and shape, in a block that is as long on all ranks, and its memory."""
    header = np.zeros(_SIZE, np.uint8)
    if array is None:
        return header, None
    dtype, shape, memory = _core.Communicator._describe(array)
    text = repr((dtype, tuple(shape))).encode()
    if len(text) > _SIZE:
        raise InvalidError("share: an array whose dtype takes a page to describe")
    header[: len(text)] = np.frombuffer(text, np.uint8)
    return header, memory


def restore(header: AnyArray, memory: _core.Memory) -> AnyArray:
    """The array that its rank has described."""
    text = header.tobytes().rstrip(b"\0").decode()
    if not text:
        raise InvalidError("share: the root has given no array")
    dtype, shape = ast.literal_eval(text)
    if isinstance(dtype, str):
        return restore_bytes(dtype, shape, memory)
    return np.ndarray(shape, DTYPES[dtype], cast(memoryview, memory))
