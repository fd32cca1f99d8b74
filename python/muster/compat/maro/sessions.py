"""Which of Muster's sessions stands for which of MARO's, and which have failed."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Any

import muster

from .open_requests import MOST_OPEN, OpenRequests

MOST_FAILED = MOST_OPEN  # Failures that nobody asks about: all may fail at once.


class Sessions:
    """Any thread may call anything. Muster tells it by `on_event` what will not be answered; where
    more ends at once than it has events for, who waits finds out by `lost`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = OpenRequests()
        self._failed: OrderedDict[str, list[str]] = OrderedDict()
        self._ended_early: OrderedDict[muster.Id, str] = OrderedDict()

    def opened(
        self, session: muster.Id, session_id: str, is_notification: bool
    ) -> muster.Id | None:
        """Gives one that is given up, if there are too many."""
        with self._lock:
            if session in self._ended_early:
                self._fail(session_id, self._ended_early.pop(session))
                return None
            self._open.add(session, session_id, is_notification)
            surplus = self._open.pop_surplus()
            if surplus is None:
                return None
            self._fail(surplus[1], "it was given up: too many requests have no answer")
            return surplus[0]

    def answered(self, received: muster.Message) -> str | None:
        """MARO's id of the session that this message answers."""
        if received.is_request:
            return None
        with self._lock:
            session_id = self._open.pop(received.session_id)
            if session_id is not None and received.is_failure:
                self._fail(session_id, _reason(received))
            return session_id

    def on_event(self, event: muster.ProxyEvent) -> None:
        if event.kind != "session_ended":
            return
        with self._lock:
            session_id = self._open.pop(event.session)
            if session_id is not None:
                self._fail(session_id, event.text)
            else:  # Its isend() has not returned yet.
                self._ended_early[event.session] = event.text
                _keep(self._ended_early)

    def open_of(self, session_ids: Iterable[str]) -> set[muster.Id]:
        with self._lock:
            return self._open.of(session_ids)

    def lost(self, sessions: Iterable[muster.Id]) -> None:
        """Those that are open yet have ended unheard."""
        with self._lock:
            for session in sessions:
                session_id = self._open.pop(session)
                if session_id is not None:
                    self._fail(session_id, "it ended, among many at once, without an answer")

    def take_failures(self, wanted: "Counter[str]") -> list[tuple[str, str]]:
        """Sessions of these whose answers will not come, and why, no more of each than are
        wanted. Each is told once."""
        told: list[tuple[str, str]] = []
        with self._lock:
            for session_id in self._failed.keys() & wanted.keys():
                reasons = self._failed[session_id]
                for _ in range(min(len(reasons), wanted[session_id])):
                    told.append((session_id, reasons.pop()))
                if not reasons:
                    del self._failed[session_id]
        return told

    def _fail(self, session_id: str, reason: str) -> None:
        self._failed.setdefault(session_id, []).append(reason)
        _keep(self._failed)


def _keep(entries: "OrderedDict[Any, Any]") -> None:
    while len(entries) > MOST_FAILED:
        entries.popitem(last=False)


def _reason(received: muster.Message) -> str:
    try:
        received.raise_failure()
    except muster.Error as error:
        return str(error)
    return "it failed"
