"""Arrays that lie where every process of this host can read them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from muster import _core

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["empty"]


def empty(
    shape: SupportsIndex | Sequence[SupportsIndex], dtype: npt.DTypeLike = float
) -> npt.NDArray[Any]:
    """An array in the arena, uninitialised: sending it copies nothing.

    Fill it, send it; from then on it is read-only, since others read that very memory.

    >>> import muster
    >>> weights = muster.empty((2, 3), "float32")
    >>> weights[:] = 1
    >>> float(weights.sum())
    6.0

    Raises :class:`muster.OverloadedError` if there is no memory for it, and what numpy raises for
    a shape or dtype that cannot be.
    """
    import numpy as np

    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError("an array of objects cannot lie in shared memory")
    counts = (shape,) if isinstance(shape, SupportsIndex) else shape
    dimensions = tuple(operator.index(count) for count in counts)
    if any(count < 0 for count in dimensions):
        raise ValueError("negative dimensions are not allowed")
    size = kind.itemsize
    for count in dimensions:
        size *= count
    if size > sys.maxsize:
        raise ValueError(f"an array of {size} bytes is too large for any memory")
    made: npt.NDArray[Any] = np.ndarray(dimensions, kind, cast(memoryview, _core.allocate(size)))
    return made
