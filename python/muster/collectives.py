"""Communicator: ranks 0 to n-1 that do operations together, on arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from muster import _core
from muster._core import Operation
from muster._operations import Reduction, UserReduction, told
from muster._uneven_operations import UnevenOperations
from muster.errors import InvalidError

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self, Unpack  # noqa: UP035 (typing has it since Python 3.11)

    from muster._how import Manners
    from muster.proxy import Proxy

    Array = npt.NDArray[Any]

__all__ = ["Communicator", "Operation", "Reduction", "UserReduction"]


class Communicator(UnevenOperations):
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
        keep_input: Operations in place keep a copy, so that :meth:`repeat` can do them again.
        patience: After so many seconds in an operation the log names those who have not come;
            None is ten.
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
        **manners: Unpack[Manners],
    ) -> None:
        self._core = _core.Communicator(name, rank, size, timeout, registry, _all(manners))

    @classmethod
    def over(
        cls,
        proxy: Proxy,
        name: str,
        members: Sequence[str],
        timeout: float | None = None,
        **manners: Unpack[Manners],
    ) -> Communicator:
        """Over components of the proxy's group, this one among them, ranked in that order."""
        if isinstance(members, str):
            raise InvalidError("members is a list of names, not a str")
        made = _core.Communicator._over(proxy, name, list(members), timeout, _all(manners))
        return cls._of(made)

    @classmethod
    def over_type(
        cls,
        proxy: Proxy,
        name: str,
        type: str,
        size: int,
        timeout: float | None = None,
        **manners: Unpack[Manners],
    ) -> Communicator:
        """Over all components of a type, so many of them, ranked by their names."""
        made = _core.Communicator._over_type(proxy, name, type, size, timeout, _all(manners))
        return cls._of(made)

    @classmethod
    def _of(cls, made: _core.Communicator) -> Communicator:
        self = cls.__new__(cls)
        self._core = made
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def member(self, rank: int) -> str:
        """The name that a rank has in the registry."""
        return self._core.member(rank)

    def close(self) -> None:
        """Says goodbye to the others, and ends what waits here."""
        self._core.close()

    def send(self, array: Array, to: int, tag: int = 0, timeout: float | None = None) -> None:
        """Sends to one rank; returns once the array may be written again."""
        self._core.send(array, to, tag, timeout)

    def receive(
        self, array: Array, source: int, tag: int = 0, timeout: float | None = None
    ) -> Array:
        """Receives what one rank sent, of just this size and type."""
        return self._core.receive(array, source, tag, timeout)

    def share(
        self, array: Array | None = None, root: int = 0, timeout: float | None = None
    ) -> Array:
        """The root's array everywhere, to be read: by the ranks of its host where it lies.

        Nothing is copied if it is of :func:`muster.empty`, and nobody may write to it any more.

        >>> import muster, numpy as np
        >>> with Communicator("docs", rank=0, size=1) as alone:
        ...     weights = muster.empty((2, 2), "float32")
        ...     weights[:] = 1
        ...     print(alone.share(weights).sum(), weights.flags.writeable)
        4.0 False
        """
        from muster import _shared

        self._check_root(root)
        header, memory = _shared.describe(array if self.rank == root else None)
        headers = self.all_gather(header, timeout=timeout)  # And so all have come.
        _shared.check(headers[root], root)
        return _shared.restore(headers[root], self._core._share(memory, root))

    @told
    def _check_root(self, root: int) -> None:
        if not 0 <= root < self.size:
            raise InvalidError(f"share: there is no rank {root} among {self.size}")

    def all_share(self, array: Array, timeout: float | None = None) -> list[Array]:
        """Everybody's array, in the order of the ranks, as :meth:`share` gives one."""
        from muster import _shared

        header, memory = _shared.describe(array)
        headers = self.all_gather(header, timeout=timeout)
        for rank, said in enumerate(headers):
            _shared.check(said, rank)
        everybodys = self._core._all_share(memory)
        return [_shared.restore(*pair) for pair in zip(headers, everybodys, strict=True)]

    def split(self, colour: int, key: int = 0, timeout: float | None = None) -> Communicator | None:
        """Members of the same colour, ranked by key; None for a negative colour."""
        self._check_number("colour", colour)
        self._check_number("key", key)
        self.barrier(timeout)  # What comes then does not wait for anybody.
        made = self._core._split(colour, key)
        return None if made is None else Communicator._of(made)

    @told
    def _check_number(self, what: str, number: int) -> None:
        if not -(2**31) <= operator.index(number) < 2**31:
            raise InvalidError(f"split: a {what} of {number}; it has 32 bits")

    def dup(self, timeout: float | None = None) -> Communicator:
        """The same members once more."""
        self.barrier(timeout)
        return Communicator._of(self._core._dup())

    def grow(self, size: int, timeout: float | None = None) -> Communicator:
        """Takes in newcomers until there are ``size`` members.

        Newcomers make a communicator of this name and size, with ranks from the old size on. All
        members call it.
        """
        return Communicator._of(self._core._grow(size, timeout))

    def shrink(self, timeout: float | None = None) -> Communicator:
        """Those who are left, after a loss. All of them call it."""
        return Communicator._of(self._core._shrink(timeout))

    def repeat(self, timeout: float | None = None) -> Array | None:
        """Of a communicator that :meth:`shrink` gave: does again what the loss interrupted.

        Over the survivors, with the arrays that the operation was called with, of which it gives
        the one that it writes. A rank on which it had ended calls the operation itself; see
        :attr:`completed_before`. In place it takes ``keep_input=True``.
        """
        return self._core._repeat().result(timeout)

    @property
    def completed(self) -> int:
        """Operations that have ended on this rank."""
        return self._core.completed

    @property
    def completed_before(self) -> int:
        """Of one that :meth:`shrink` gave: the last operation that all survivors completed."""
        return self._core.completed_before

    @property
    def lost(self) -> list[int]:
        """Ranks that are known to be lost."""
        return self._core.lost()

    @property
    def waiting_for(self) -> list[int]:
        """Ranks that have not come to the operation that this one is in.

        For another thread, or while one waits for an :class:`Operation`.
        """
        return self._core.waiting_for()


_MANNERS: dict[str, Any] = {
    "elastic": False,
    "reproducible": False,
    "keep_input": False,
    "patience": None,
    "deadline": None,
}


def _all(said: Manners) -> dict[str, Any]:
    unknown = said.keys() - _MANNERS.keys()
    if unknown:
        raise TypeError(f"a communicator cannot be told: {', '.join(sorted(unknown))}")
    return _MANNERS | dict(said)
