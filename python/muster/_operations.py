"""The operations of a communicator, on arrays."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from muster import _core
from muster._core import Operation
from muster.errors import Error

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

__all__ = ["EvenOperations", "Reduction", "UserReduction"]


@dataclass(frozen=True)
class UserReduction:
    """A reduction by a function of yours.

    It is given two arrays of one dimension, parts of what the ranks have contributed, and returns
    one of the same length: element by element, and associative. Unless it is said to be
    commutative as well, contributions are taken in the order of the ranks. If it raises, the
    operation does so on every rank.

    >>> import numpy as np
    >>> from muster import Communicator, UserReduction
    >>> with Communicator("docs", rank=0, size=1) as alone:
    ...     farthest = UserReduction(lambda a, b: np.where(abs(a) > abs(b), a, b), True)
    ...     print(alone.all_reduce(np.array([3.0, -4.0]), reduction=farthest))
    [ 3. -4.]
    """

    function: Callable[[Array, Array], Array]
    is_commutative: bool = False


#: How the ranks' contributions become one: by name, or by a function of two arrays.
Reduction = (
    Literal["sum", "product", "min", "max", "mean", "and", "or"]
    | UserReduction
    | Callable[[Any, Any], Any]
)


P = ParamSpec("P")
T = TypeVar("T")
Self = TypeVar("Self", bound="EvenOperations")


def told(
    begin: Callable[Concatenate[Self, P], T],
) -> Callable[Concatenate[Self, P], T]:
    """Begins an operation, or tells the other ranks that this one cannot, and why."""

    @functools.wraps(begin)
    def begin_or_tell(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return begin(self, *args, **kwargs)
        except Exception as raised:
            self._tell_refusal(raised)
            raise

    return begin_or_tell


class EvenOperations:
    """Those in which every rank's block is of the same size."""

    _core: _core.Communicator

    @property
    def _awaited(self: Self) -> Self:
        """What is begun next is waited for at once."""
        self._core._await_next()
        return self

    def _tell_refusal(self, raised: Exception) -> None:
        kind = "" if isinstance(raised, Error) else f"{type(raised).__name__}: "
        with contextlib.suppress(Error):  # It is closed, or a parent's: there is nobody to tell.
            self._core._refuse(f"{kind}{raised}")

    @property
    def rank(self) -> int:
        """Which one this is."""
        return self._core.rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self._core.size

    def barrier(self, timeout: float | None = None) -> None:
        """Returns once all have come."""
        self.ibarrier().result(timeout)

    @told
    def ibarrier(self) -> Operation:
        """Done once all have come."""
        return self._core._barrier()

    def broadcast(self, data: Array, root: int = 0, timeout: float | None = None) -> Array:
        """The root's array, written into ``data`` everywhere."""
        return self._awaited.ibroadcast(data, root).result(timeout)

    @told
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
        return self._awaited.iall_reduce(mine, result, reduction).result(timeout)

    @told
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
        return self._awaited.ireduce(mine, result, reduction, root).result(timeout)

    @told
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
        return self._awaited.iscatter(all_, mine, root).result(timeout)

    @told
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
        return self._awaited.igather(mine, all_, root).result(timeout)

    @told
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
        return self._awaited.iall_gather(mine, all_).result(timeout)

    @told
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
        return self._awaited.ireduce_scatter(all_, mine, reduction).result(timeout)

    @told
    def ireduce_scatter(self, all_: Array, mine: Array, reduction: Reduction = "sum") -> Operation:
        """:meth:`reduce_scatter`, begun."""
        return self._core._reduce_scatter(all_, mine, reduction)

    def all_to_all(
        self, mine: Array, theirs: Array | None = None, timeout: float | None = None
    ) -> Array:
        """Block i of ``mine`` goes to rank i; block i of the result has come from it."""
        return self._awaited.iall_to_all(mine, theirs).result(timeout)

    @told
    def iall_to_all(self, mine: Array, theirs: Array | None = None) -> Operation:
        """:meth:`all_to_all`, begun."""
        import numpy as np

        return self._core._all_to_all(mine, np.empty_like(mine) if theirs is None else theirs)

    def _blocks(self, mine: Array) -> Array:
        import numpy as np

        return np.empty((self.size, *mine.shape), mine.dtype)
