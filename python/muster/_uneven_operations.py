"""The operations with a count for each rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from muster._core import Operation
from muster._operations import EvenOperations, Reduction, told

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Counts = Sequence[int]


class UnevenOperations(EvenOperations):
    """``counts`` says how many elements each rank's block has, in the order of the ranks."""

    def scatter_v(
        self,
        all_: Array | None,
        counts: Counts | None,
        mine: Array,
        root: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """The root's ``all_``, a block for each rank: ``mine``. Others give None for both."""
        return self._awaited.iscatter_v(all_, counts, mine, root).result(timeout)

    @told
    def iscatter_v(
        self, all_: Array | None, counts: Counts | None, mine: Array, root: int = 0
    ) -> Operation:
        """:meth:`scatter_v`, begun."""
        return self._core._scatter_v(all_, list(counts or ()), mine, root)

    def gather_v(
        self,
        mine: Array,
        counts: Counts | None = None,
        all_: Array | None = None,
        root: int = 0,
        timeout: float | None = None,
    ) -> Array | None:
        """All blocks one after the other, at the root, which alone needs ``counts``."""
        return self._awaited.igather_v(mine, counts, all_, root).result(timeout)

    @told
    def igather_v(
        self,
        mine: Array,
        counts: Counts | None = None,
        all_: Array | None = None,
        root: int = 0,
    ) -> Operation:
        """:meth:`gather_v`, begun."""
        if self.rank != root:
            all_ = None
        elif all_ is None:
            all_ = _empty(sum(counts or ()), mine)
        return self._core._gather_v(mine, all_, list(counts or ()), root)

    def all_gather_v(
        self,
        mine: Array,
        counts: Counts,
        all_: Array | None = None,
        timeout: float | None = None,
    ) -> Array:
        """All blocks one after the other, everywhere.

        >>> import numpy as np
        >>> from muster import Communicator
        >>> with Communicator("docs", rank=0, size=1) as alone:
        ...     print(alone.all_gather_v(np.arange(3), counts=[3]))
        [0 1 2]
        """
        return self._awaited.iall_gather_v(mine, counts, all_).result(timeout)

    @told
    def iall_gather_v(self, mine: Array, counts: Counts, all_: Array | None = None) -> Operation:
        """:meth:`all_gather_v`, begun."""
        if all_ is None:
            all_ = _empty(sum(counts), mine)
        return self._core._all_gather_v(mine, all_, list(counts))

    def reduce_scatter_v(
        self,
        all_: Array,
        counts: Counts,
        mine: Array | None = None,
        reduction: Reduction = "sum",
        timeout: float | None = None,
    ) -> Array:
        """``all_`` has a block for each rank; gives what those for this one come to."""
        return self._awaited.ireduce_scatter_v(all_, counts, mine, reduction).result(timeout)

    @told
    def ireduce_scatter_v(
        self,
        all_: Array,
        counts: Counts,
        mine: Array | None = None,
        reduction: Reduction = "sum",
    ) -> Operation:
        """:meth:`reduce_scatter_v`, begun."""
        if mine is None:
            mine = _empty(counts[self.rank], all_)
        return self._core._reduce_scatter_v(all_, list(counts), mine, reduction)

    def all_to_all_v(
        self,
        mine: Array,
        counts: Counts,
        their_counts: Counts,
        theirs: Array | None = None,
        timeout: float | None = None,
    ) -> Array:
        """Block i of ``mine`` goes to rank i; block i of the result has come from it."""
        return self._awaited.iall_to_all_v(mine, counts, their_counts, theirs).result(timeout)

    @told
    def iall_to_all_v(
        self,
        mine: Array,
        counts: Counts,
        their_counts: Counts,
        theirs: Array | None = None,
    ) -> Operation:
        """:meth:`all_to_all_v`, begun."""
        if theirs is None:
            theirs = _empty(sum(their_counts), mine)
        return self._core._all_to_all_v(mine, list(counts), theirs, list(their_counts))


def _empty(count: int, like: Array) -> Array:
    import numpy as np

    return np.empty(count, like.dtype)
