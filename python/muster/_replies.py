"""What several sessions, and a proxy's group, have to tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muster import _core, errors


@dataclass(frozen=True)
class Failure:
    """A session that ended without an answer, or with an error as its answer."""

    session: _core.Id
    peer: str
    error: errors.Error


@dataclass(frozen=True)
class Replies:
    """What came of several sessions, in the order in which they were asked for.

    Iterating gives the messages that answered.
    """

    messages: list[_core.Message]
    #: Lost peers, timeouts, handlers that failed.
    failures: list[Failure]
    #: Still open: ask again, or cancel.
    missing: list[_core.Id]

    @property
    def is_complete(self) -> bool:
        """Every session was answered."""
        return not self.failures and not self.missing

    def __iter__(self) -> Iterator[_core.Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


@dataclass(frozen=True)
class PeerInfo:
    """A peer, as far as this component knows."""

    name: str
    type: str
    incarnation: int
    #: ``here``; ``connecting``: a member, but no link stands; ``lost``: gone without a goodbye, it
    #: may return; ``left``.
    presence: str
    addresses: list[str]
    #: Of the link that stands, else empty.
    driver: str
    address: str
    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int
    #: Messages that wait to be sent.
    queued: int


@dataclass(frozen=True)
class ProxyEvent:
    """Who came and went, and what was lost. ``kind`` is a word such as ``joined`` or ``lost``."""

    kind: str
    peer: str
    text: str
    count: int
    session: _core.Id


def make(
    messages: list[_core.Message],
    failures: list[tuple[_core.Id, str, int, str]],
    missing: list[_core.Id],
) -> Replies:
    """Called by the extension."""
    failed = [Failure(id_, peer, errors.from_code(code, why)) for id_, peer, code, why in failures]
    return Replies(messages, failed, missing)
