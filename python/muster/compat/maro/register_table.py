"""MARO's table of conditional events, on Muster's.

Units are read as MARO reads them and handed to muster.EventTable as conditions:
source and tag must be equal, not merely contained; what can never be met is refused
when it is registered; percentages are of who is there now.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import muster

from .exception import ConditionalEventSyntaxError, PeersMissError
from .message import Message, Messages, tag_text

Peers = Mapping[str, Iterable[str]]
Handler = Callable[..., Any]

AND, OR = ("AND", "&&"), ("OR", "||")


def refuse(event: object, why: str) -> ConditionalEventSyntaxError:
    return ConditionalEventSyntaxError(
        f"read the event {event!r}: {why}; write source:tag:amount, or a tuple of events that "
        "ends in 'AND' or 'OR'"
    )


def quoted(word: str) -> str:
    return "*" if word == "*" else f"'{word}'"


def condition(event: "str | tuple[Any, ...]", types: Iterable[str]) -> str:
    """The event in Muster's words. `types` are those of whole groups of peers."""
    if isinstance(event, str):
        return unit(event, set(types))
    if not isinstance(event, tuple):
        raise refuse(event, "it is neither a text nor a tuple")
    if len(event) < 2:
        raise refuse(event, "there is nothing to combine")
    *parts, operation = event
    if operation not in AND + OR:
        raise refuse(event, f"{operation!r} is not an operation")
    word = " && " if operation in AND else " || "
    return "(" + word.join(condition(part, types) for part in parts) + ")"


def unit(text: str, types: set[str]) -> str:
    words = text.split(":")
    if len(words) == 1 and text:
        return f"*:{quoted(text)}:1"  # A bare tag, as before there were conditions.
    if len(words) != 3 or not all(words):
        raise refuse(text, "it has not three parts")
    if "'" in text:
        raise refuse(text, "it has a quote in it")
    source, tag, amount = words
    who = f"{quoted(source)}:{quoted(tag)}"
    number = amount.removesuffix("%")
    if not (number.isascii() and number.isdigit()) or int(number) == 0:
        raise refuse(text, f"{amount!r} is not an amount")
    if amount.endswith("%"):
        return f"{who}:{min(int(number), 100)}% distinct"
    if source == "*" or source in types:
        # More than there are peers means all of them.
        return f"({who}:{int(number)} || {who}:100% distinct)"
    return f"{who}:{int(number)}"


class LivePeers(dict[str, list[str]]):
    """What `Proxy.peers` gives: a dict as of now, and how to get the one of later."""

    def __init__(self, now: Callable[[], dict[str, list[str]]]) -> None:
        super().__init__(now())
        self.now = now


@dataclass
class Entry:
    condition: muster.EventCondition
    handler: Handler
    wants_one: bool  # Its event is a bare tag.


def sources(event: "str | tuple[Any, ...]") -> set[str]:
    """Who is named in an event."""
    if isinstance(event, tuple):
        return {name for part in event for name in sources(part)}
    parts = event.split(":")
    return {parts[0]} - {"*"} if len(parts) == 3 else set()


class RegisterTable:
    """Collects messages until an event has what it needs, then calls its handler.

    `peers_name` is who is there: a dict from type to names, or something that gives it
    when called. That of a proxy is followed as peers come and go. A method that takes a
    type and gives names, as MARO 0.1 wants it, will do; then push() only stores, as it
    did there.
    """

    def __init__(self, peers_name: "Peers | Callable[..., Any]") -> None:
        self._peers = peers_name
        self._only_stores = callable(peers_name) and not _gives_dict(peers_name)
        self._sources: set[str] = set()
        self._table = muster.EventTable()
        self._here: dict[str, str] = {}  # Type by name.
        self._handlers: dict[int, Entry] = {}
        self._fired: deque[tuple[int, Messages]] = deque()
        self._look()

    def register_event_handler(self, event: "str | tuple[Any, ...]", handler_fn: Handler) -> None:
        """Raises ConditionalEventSyntaxError if the event is not written as one."""
        condition(event, ())  # Whether it is written as one.
        self._sources |= sources(event)
        self._look()
        text = condition(event, self._types())
        try:
            is_tag = isinstance(event, str) and ":" not in event
            entry = Entry(muster.EventCondition(text), handler_fn, is_tag)
            self._handlers[self._table.add(entry.condition)] = entry
        except muster.InvalidError as error:
            raise refuse(event, str(error)) from error

    def push(self, message: Message, auto_trigger: bool | None = None) -> "list[Any] | None":
        """Stores the message with every event that it is for.

        Runs the handlers of those that have what they need and returns their results,
        None if there are none; with auto_trigger=False get() has them instead.
        """
        self._look()
        kind = self._here.get(message.source, "")
        tag = tag_text(message.tag)
        self._keep(self._table.push(message, source=message.source, tag=tag, type=kind))
        if auto_trigger is None:
            auto_trigger = not self._only_stores
        if not auto_trigger:
            return None
        return [handler(messages) for handler, messages in self.get()] or None

    def get(self) -> list[tuple[Handler, Any]]:
        """The handlers that are due, with their messages; each event once at most."""
        self._look()
        due: dict[int, Messages] = {}
        later: deque[tuple[int, Messages]] = deque()
        for number, messages in self._fired:
            if number in due:
                later.append((number, messages))
            else:
                due[number] = messages
        self._fired = later
        return [self._call(number, messages) for number, messages in due.items()]

    def clear(self) -> None:
        """Drops all messages that wait. The events stay."""
        handlers, here = list(self._handlers.values()), self._here
        self._table, self._handlers, self._here = muster.EventTable(), {}, {}
        self._fired.clear()
        for name, kind in here.items():
            self._table.joined(name, kind)
        self._here = here
        for entry in handlers:
            self._handlers[self._table.add(entry.condition)] = entry

    def _call(self, number: int, messages: Messages) -> tuple[Handler, Any]:
        entry = self._handlers[number]
        return entry.handler, messages[0] if entry.wants_one else messages

    def _keep(self, firings: Iterable[tuple[int, list[Any], bool]]) -> None:
        for number, messages, _ in firings:
            self._fired.append((number, Messages(messages)))

    def _types(self) -> set[str]:
        """Those too of which nobody is there now."""
        return set(self._groups()) - {""}

    def _look(self) -> None:
        """Tells the table who came and who went."""
        now = {name: kind for kind, names in self._groups().items() for name in names}
        for name, _ in self._here.items() - now.items():
            self._keep(self._table.left(name))
        for name, kind in now.items() - self._here.items():
            self._keep(self._table.joined(name, kind))
        self._here = now

    def _groups(self) -> Peers:
        if isinstance(self._peers, LivePeers):
            return self._peers.now()
        if not callable(self._peers):
            return self._peers
        found = self._peers()
        if isinstance(found, Mapping):
            return found
        asked = {kind: self._of_type(kind) for kind in self._sources}
        groups = {kind: names for kind, names in asked.items() if names is not None}
        known = {name for names in groups.values() for name in names}
        groups[""] = [name for name in found if name not in known]
        return groups

    def _of_type(self, kind: str) -> list[str] | None:
        """Asked of a method that takes a type; it raises if there is none."""
        try:
            return list(self._peers(kind))  # type: ignore[operator]
        except (PeersMissError, LookupError):
            return None


def _gives_dict(peers: Callable[..., Any]) -> bool:
    return isinstance(peers(), Mapping)


def peer_type(name: str) -> str:
    """By MARO's names: worker_proxy_4f3a... and worker_4f3a... are of type worker."""
    for separator in ("_proxy_", "_", "."):
        kind, found, _ = name.rpartition(separator)
        if found:
            return kind
    return name
