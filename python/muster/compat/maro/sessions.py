"""Which of Muster's sessions stands for which of MARO's, and which have failed."""

import threading
from collections import Counter, OrderedDict
from typing import Any

import muster

MOST_OPEN = 100_000  # Requests without an answer; the oldest are given up.
MOST_FAILED = 4096  # Failures that nobody asks about.


class Sessions:
    """Any thread may call anything. Muster tells it by `on_event` what will not be answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[muster.Id, str] = OrderedDict()
        self._failed: OrderedDict[str, list[str]] = OrderedDict()
        self._ended_early: OrderedDict[muster.Id, str] = OrderedDict()

    def opened(self, session: muster.Id, session_id: str) -> muster.Id | None:
        """Gives one that is open for too long, if there are too many."""
        with self._lock:
            if session in self._ended_early:
                self._fail(session_id, self._ended_early.pop(session))
                return None
            self._open[session] = session_id
            return self._open.popitem(last=False)[0] if len(self._open) > MOST_OPEN else None

    def answered(self, received: muster.Message) -> str | None:
        """MARO's id of the session that this message answers."""
        if received.is_request:
            return None
        with self._lock:
            session_id = self._open.pop(received.session_id, None)
            if session_id is not None and received.is_failure:
                self._fail(session_id, _reason(received))
            return session_id

    def on_event(self, event: muster.ProxyEvent) -> None:
        if event.kind != "session_ended":
            return
        with self._lock:
            session_id = self._open.pop(event.session, None)
            if session_id is not None:
                self._fail(session_id, event.text)
            else:  # Its isend() has not returned yet.
                self._ended_early[event.session] = event.text
                _keep(self._ended_early)

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
