"""Proxy: a component's end of the conversation with its group."""

from __future__ import annotations

import functools
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from types import TracebackType
from typing import TYPE_CHECKING, Any

from muster import _core
from muster._core import Id, Message
from muster._replies import PeerInfo, ProxyEvent, Replies
from muster.errors import Error, InvalidError

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack  # noqa: UP035 (typing has it since Python 3.11)

    from muster._how import HowToMany

__all__ = ["Expected", "Proxy", "Reception"]

#: Peers that somebody waits for: so many of a type, or one by name.
Expected = Mapping[str, int] | Iterable[str | tuple[str, int]]


class Reception:
    """What :meth:`Proxy.receive` gives: messages, one after the other.

    ``for message in reception`` waits for each; ``async for`` lets the event loop run meanwhile,
    and ``await reception`` gives the next one alone, or None if there was none in time.
    """

    def __init__(self, proxy: Proxy, timeout: float | None) -> None:
        self._proxy = proxy
        self._timeout = timeout

    def __iter__(self) -> Iterator[Message]:
        return self._proxy._iterate(self._timeout)

    async def __aiter__(self) -> AsyncIterator[Message]:
        from muster import _aio  # Brings asyncio, which takes its time.

        while True:
            try:
                message = await _aio.receive_once(self._proxy, self._timeout)
            except Error:
                if not self._proxy._is_over():
                    raise
                return  # As ``for`` does.
            if message is None:
                return
            yield message

    def __await__(self) -> Generator[Any, None, Message | None]:
        from muster import _aio

        return _aio.receive_once(self._proxy, self._timeout).__await__()


class Proxy(_core.Proxy):
    """A component's end of the conversation with its group.

    Joins the group and waits until all that are ``expected`` are there, and know this one. Any
    thread may call anything; what waits lets other threads run, and ends on Ctrl-C. In a child
    that was forked a proxy is of no use: make a new one there.

    >>> from muster import Proxy, SessionType
    >>> with Proxy("docs", "worker", name="w1") as w1, Proxy("docs", "master") as master:
    ...     master.wait_for_peers({"worker": 1}, timeout=20)
    ...     _ = master.isend("note", "w1", "read this", SessionType.NOTIFICATION)
    ...     print(w1.receive_once(timeout=20).body)
    read this

    Args:
        group: Components of one group can talk to each other.
        type: What this one is, such as ``worker``.
        name: Empty: the type and a number that nobody else has.
        expected: ``{"worker": 3}``, ``[("worker", 3), "master"]``.
        timeout: In seconds, for those who are expected; None is for ever.
        waits: False: returns at once, and :meth:`wait_for_peers` can wait later.
        registry: Where the group meets: a folder of this host, or ``redis://host:port``. None: a
            folder of the user's own.
        listen: Addresses to be reached at, such as ``["shm://*", "tcp://10.0.0.7:0"]``, with the
            number that other hosts know this one by. None: on this host only.
        accepts_pickles: Whether bodies may be pickles, which can run any code when they are read.
            Only where all who know the token are trusted.
        pickler: A module with ``dumps``, or its name, for what is no plain value: "cloudpickle".
        minimum: As ``expected``: fewer are told as an event.
        minimum_timeout: Too few for so long is another.
        on_event: Called with each :class:`muster.ProxyEvent` by threads that are inside a call of
            this proxy. None: :meth:`next_event` has them.
        lease: How long the registry keeps this one without a word, in seconds.
        beat: How often it says one.
        silence: How long a peer may say nothing before it counts as lost.
        max_waiting: Bytes that wait for :meth:`receive`; then, or at a thousand messages, senders
            are held back.
        max_queued: Bytes that wait to be sent to one peer; then sending is overloaded.
        max_body: The largest body that is taken, in bytes.
        absent_messages: How many messages are kept for a peer that is away.
        absent_bytes: The same in bytes.

    Raises:
        muster.TimedOutError: Names those who are missing.
        muster.InvalidError: The group, type, name or an address cannot be.
    """

    def __init__(
        self,
        group: str,
        type: str,
        name: str = "",
        *,
        expected: Expected | None = None,
        timeout: float | None = None,
        waits: bool = True,
        registry: str | None = None,
        listen: Sequence[str] | None = None,
        accepts_pickles: bool = False,
        pickler: str | Any | None = None,
        minimum: Expected | None = None,
        minimum_timeout: float | None = None,
        on_event: Callable[[ProxyEvent], object] | None = None,
        lease: float | None = None,
        beat: float | None = None,
        silence: float | None = None,
        max_waiting: int | None = None,
        max_queued: int | None = None,
        max_body: int | None = None,
        absent_messages: int | None = None,
        absent_bytes: int | None = None,
    ) -> None:
        said = {
            "group": group,
            "type": type,
            "name": name,
            "expected": expected,
            "registry": registry,
            "listen": listen,
            "minimum": minimum,
            "minimum_timeout": minimum_timeout,
            "on_event": on_event,
            "lease": lease,
            "beat": beat,
            "silence": silence,
            "max_waiting": max_waiting,
            "max_queued": max_queued,
            "max_body": max_body,
            "absent_messages": absent_messages,
            "absent_bytes": absent_bytes,
        }
        if on_event is not None and not callable(on_event):
            raise InvalidError(f"on_event is called with events; a {_kind(on_event)} cannot be")
        options = {key: value for key, value in said.items() if value is not None}
        super().__init__(options, accepts_pickles, _dumps(pickler), waits, timeout)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__init__")
        if own is None:
            return

        @functools.wraps(own)
        def __init__(self: Proxy, *args: Any, **kwargs: Any) -> None:
            own(self, *args, **kwargs)
            if type(self) is cls:  # Else the __init__ that called this one may yet do it.
                _core.Proxy._check_made(self)

        cls.__init__ = __init__  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.leave(timeout=5)
        except Error:  # What ended the block goes first, as sys.exit() of a child that was forked.
            if raised is None:
                raise

    def __repr__(self) -> str:
        return f"<Proxy {self.name} of {self.group}>"

    def receive(self, timeout: float | None = None) -> Reception:
        """The messages that come, to be iterated over: requests, and answers asked to come here.

        Ends when none comes for ``timeout`` seconds, or the proxy is over.
        """
        return Reception(self, timeout)

    def scatter(
        self,
        tag: str | Any,
        bodies: Mapping[str, Any] | Iterable[tuple[str, Any]],
        timeout: float | None = None,
        **how: Unpack[HowToMany],
    ) -> Replies:
        """Sends a body to each, and waits for the answers of all."""
        replies: Replies = self._scatter(tag, bodies, timeout, waits=True, **how)
        return replies

    def iscatter(
        self,
        tag: str | Any,
        bodies: Mapping[str, Any] | Iterable[tuple[str, Any]],
        *,
        timeout: float | None = None,
        **how: Unpack[HowToMany],
    ) -> list[Id]:
        """Sends a body to each, and returns the sessions' ids in the same order."""
        ids: list[Id] = self._scatter(tag, bodies, timeout, waits=False, **how)
        return ids

    def broadcast(
        self,
        tag: str | Any,
        audience: str | None = None,
        body: Any = None,
        timeout: float | None = None,
        **how: Unpack[HowToMany],
    ) -> Replies:
        """Sends one body to all of a type, and waits for the answers of all.

        The audience is a type, a pattern of names such as ``worker_*``, or None for everybody.
        """
        replies: Replies = self._broadcast(tag, audience, body, timeout, waits=True, **how)
        return replies

    def ibroadcast(
        self,
        tag: str | Any,
        audience: str | None = None,
        body: Any = None,
        *,
        timeout: float | None = None,
        **how: Unpack[HowToMany],
    ) -> list[Id]:
        """Sends one body to all of a type, and returns the sessions' ids."""
        ids: list[Id] = self._broadcast(tag, audience, body, timeout, waits=False, **how)
        return ids

    @property
    def peers(self) -> list[PeerInfo]:
        """Who is there, in the order of their names: ``here``, or ``connecting``.

        Nobody, once this proxy is over.
        """
        return [PeerInfo(**info) for info in self._peers()]

    def peer(self, name: str) -> PeerInfo | None:
        """One of those who are there or, for as long as it is remembered, were: ``lost``,
        ``left``. None if nobody has heard of it. Once this proxy is over, as it was known last."""
        info = self._peer(name)
        return None if info is None else PeerInfo(**info)

    @property
    def counters(self) -> dict[str, int]:
        """What waits, what is open and what was dropped, in numbers."""
        return self._counters()

    @property
    def ended(self) -> str | None:
        """Why this proxy is over; None while it is not."""
        return self._ended()


def _kind(thing: object) -> str:
    return type(thing).__name__


def _dumps(pickler: str | Any | None) -> Any:
    if pickler is None:
        return None
    if isinstance(pickler, str):
        import importlib

        pickler = importlib.import_module(pickler)
    return pickler.dumps
