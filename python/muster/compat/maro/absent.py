"""Messages for peers that are away, until the first that is sent to them once they are back."""

import threading
from collections import OrderedDict

from .message import Message, SessionType

Kept = tuple[Message, SessionType]


class Absent:
    """At most `most` messages for each peer; the oldest give way. Any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[str, OrderedDict[str, Kept]] = {}

    def keep(self, destination: str, message: Message, kind: SessionType) -> None:
        """A message that is there already is not kept again."""
        with self._lock:
            kept = self._kept.setdefault(destination, OrderedDict())
            kept.setdefault(message.message_id, (message, kind))
            while len(kept) > self._most:
                kept.popitem(last=False)

    def take_oldest(self, destination: str) -> Kept | None:
        with self._lock:
            kept = self._kept.get(destination)
            if not kept:
                self._kept.pop(destination, None)
                return None
            return kept.popitem(last=False)[1]
