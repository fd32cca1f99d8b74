"""Communicator: ranks 0 to n-1 that do operations together, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from muster import _core
from muster._core import Operation

if TYPE_CHECKING:
    import numpy.typing as npt

    from muster.proxy import Proxy

    Array = npt.NDArray[Any]

__all__ = ["Communicator", "Operation", "Reduction"]

#: How the ranks' contributions become one.
Reduction = Literal["sum", "product", "min", "max", "mean", "and", "or"]


class Communicator:
    """Ranks 0 to n-1 that do operations together.

    Every rank calls the same operations in the same order, with arrays of the same size and type.
    Where no array is given for the result, the operation is done in place, or a new one is made.
    Arrays of :func:`muster.empty` are read by the other ranks of this host where they lie.

    >>> import numpy as np
    >>> from muster import Communicator
    >>> with Communicator("docs", rank=0, size=1) as alone:
    ...     print(alone.all_reduce(np.arange(3.0), reduction="mean"))
    [0. 1. 2.]

    Calls with an ``i`` in front return an :class:`Operation` at once, which can be awaited; leave
    its arrays alone until it is over. When a member is lost, operations raise
    :class:`muster.UnavailableError`, and :meth:`shrink` gives the survivors a new communicator.

    Args:
        name: All members say the same name and size, and each a rank of its own.
        timeout: In seconds, for the others to come; None is for ever.
        registry: As a proxy's.
        elastic: Operations go on over the survivors when a member is lost.
        reproducible: The same bits for the same input, whatever the drivers.
        keep_input: Operations in place keep a copy, to be done again.
        deadline: How long an operation may take, in seconds; it then fails on every rank.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        size: int,
        timeout: float | None = None,
        *,
        registry: str | None = None,
        elastic: bool = False,
        reproducible: bool = False,
        keep_input: bool = False,
        deadline: float | None = None,
    ) -> None:
        self._core = _core.Communicator(
            name,
            rank,
            size,
            timeout,
            registry=registry,
            elastic=elastic,
            reproducible=reproducible,
            keep_input=keep_input,
            deadline=deadline,
        )

    @classmethod
    def over(
        cls,
        proxy: Proxy,
        name: str,
        members: Sequence[str],
        timeout: float | None = None,
        *,
        elastic: bool = False,
        reproducible: bool = False,
        keep_input: bool = False,
        deadline: float | None = None,
    ) -> Communicator:
        """Over components of the proxy's group, this one among them, ranked in that order."""
        return cls._of(
            _core.Communicator._over(
                proxy, name, list(members), timeout, elastic, reproducible, keep_input, deadline
            )
        )

    @classmethod
    def _of(cls, made: _core.Communicator) -> Communicator:
        self = cls.__new__(cls)
        self._core = made
        return self

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def rank(self) -> int:
        """Which one this is."""
        return self._core.rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self._core.size

    def member(self, rank: int) -> str:
        """The name that a rank has in the registry."""
        return self._core.member(rank)

    def close(self) -> None:
        """Says goodbye to the others."""
        self._core.close()

    def barrier(self, timeout: float | None = None) -> None:
        """Returns once all have come."""
        self.ibarrier().result(timeout)

    def ibarrier(self) -> Operation:
        """Done once all have come."""
        return self._core._barrier()

    def broadcast(self, data: Array, root: int = 0, timeout: float | None = None) -> Array:
        """The root's array, written into ``data`` everywhere."""
        return self.ibroadcast(data, root).result(timeout)

    def ibroadcast(self, data: Array, root: int = 0) -> Operation:
        """:meth:`broadcast`, begun."""
        return self._core._broadcast(data, root)

    def all_reduce(
        self,
        mine: Array,
        result: Array | None = None,
        reduction: Reduction = "sum",
        timeout: float | None = None,
    ) -> Array:
        """All contributions as one, everywhere; in place if no result is given."""
        return self.iall_reduce(mine, result, reduction).result(timeout)

    def iall_reduce(
        self, mine: Array, result: Array | None = None, reduction: Reduction = "sum"
    ) -> Operation:
        """:meth:`all_reduce`, begun."""
        return self._core._all_reduce(mine, mine if result is None else result, reduction)

    def reduce(
        self,
        mine: Array,
        result: Array | None = None,
        reduction: Reduction = "sum",
        root: int = 0,
        timeout: float | None = None,
    ) -> Array | None:
        """All contributions as one, at the root; in place there if no result is given."""
        return self.ireduce(mine, result, reduction, root).result(timeout)

    def ireduce(
        self,
        mine: Array,
        result: Array | None = None,
        reduction: Reduction = "sum",
        root: int = 0,
    ) -> Operation:
        """:meth:`reduce`, begun."""
        if self.rank != root:
            result = None
        elif result is None:
            result = mine
        return self._core._reduce(mine, result, reduction, root)

    def scatter(
        self, all_: Array | None, mine: Array, root: int = 0, timeout: float | None = None
    ) -> Array:
        """The root's ``all_``, one block for each rank: ``mine``. Others give None."""
        return self.iscatter(all_, mine, root).result(timeout)

    def iscatter(self, all_: Array | None, mine: Array, root: int = 0) -> Operation:
        """:meth:`scatter`, begun."""
        return self._core._scatter(all_, mine, root)

    def gather(
        self,
        mine: Array,
        all_: Array | None = None,
        root: int = 0,
        timeout: float | None = None,
    ) -> Array | None:
        """All blocks one after the other, at the root; None elsewhere."""
        return self.igather(mine, all_, root).result(timeout)

    def igather(self, mine: Array, all_: Array | None = None, root: int = 0) -> Operation:
        """:meth:`gather`, begun."""
        if self.rank != root:
            all_ = None
        elif all_ is None:
            all_ = self._blocks(mine)
        return self._core._gather(mine, all_, root)

    def all_gather(
        self, mine: Array, all_: Array | None = None, timeout: float | None = None
    ) -> Array:
        """All blocks one after the other, everywhere: of shape ``(size, *mine.shape)`` if new."""
        return self.iall_gather(mine, all_).result(timeout)

    def iall_gather(self, mine: Array, all_: Array | None = None) -> Operation:
        """:meth:`all_gather`, begun."""
        return self._core._all_gather(mine, self._blocks(mine) if all_ is None else all_)

    def reduce_scatter(
        self,
        all_: Array,
        mine: Array,
        reduction: Reduction = "sum",
        timeout: float | None = None,
    ) -> Array:
        """``all_`` has a block for each rank; ``mine`` is what those for this one come to."""
        return self.ireduce_scatter(all_, mine, reduction).result(timeout)

    def ireduce_scatter(self, all_: Array, mine: Array, reduction: Reduction = "sum") -> Operation:
        """:meth:`reduce_scatter`, begun."""
        return self._core._reduce_scatter(all_, mine, reduction)

    def all_to_all(
        self, mine: Array, theirs: Array | None = None, timeout: float | None = None
    ) -> Array:
        """Block i of ``mine`` goes to rank i; block i of the result has come from it."""
        return self.iall_to_all(mine, theirs).result(timeout)

    def iall_to_all(self, mine: Array, theirs: Array | None = None) -> Operation:
        """:meth:`all_to_all`, begun."""
        import numpy as np

        return self._core._all_to_all(mine, np.empty_like(mine) if theirs is None else theirs)

    def send(self, array: Array, to: int, tag: int = 0, timeout: float | None = None) -> None:
        """Sends to one rank; returns once the array may be written again."""
        self._core.send(array, to, tag, timeout)

    def receive(
        self, array: Array, source: int, tag: int = 0, timeout: float | None = None
    ) -> Array:
        """Receives what one rank sent, of just this size and type."""
        return self._core.receive(array, source, tag, timeout)

    def split(self, colour: int, key: int = 0) -> Communicator | None:
        """Members of the same colour, ranked by key; None for a negative colour."""
        made = self._core._split(colour, key)
        return None if made is None else Communicator._of(made)

    def dup(self) -> Communicator:
        """The same members once more."""
        return Communicator._of(self._core._dup())

    def shrink(self, timeout: float | None = None) -> Communicator:
        """Those who are left, after a loss. All of them call it."""
        return Communicator._of(self._core._shrink(timeout))

    @property
    def lost(self) -> list[int]:
        """Ranks that are known to be lost."""
        return self._core.lost()

    @property
    def waiting_for(self) -> list[int]:
        """Ranks that have not come to the operation that this one is in."""
        return self._core.waiting_for()

    def _blocks(self, mine: Array) -> Array:
        import numpy as np

        return np.empty((self.size, *mine.shape), mine.dtype)
