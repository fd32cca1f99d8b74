"""Requests that wait for an answer, and which of them are given up where there are too many."""

from collections import OrderedDict
from collections.abc import Iterable

import muster

MOST_OPEN = 100_000


class OpenRequests:
    """MARO's id of each of Muster's sessions that is open."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[muster.Id, str] = OrderedDict()
        self._notifications: OrderedDict[muster.Id, str] = OrderedDict()
        self._sessions: dict[str, set[muster.Id]] = {}

    def add(self, session: muster.Id, session_id: str, is_notification: bool) -> None:
        (self._notifications if is_notification else self._tasks)[session] = session_id
        self._sessions.setdefault(session_id, set()).add(session)

    def pop(self, session: muster.Id) -> str | None:
        for requests in (self._tasks, self._notifications):
            if session in requests:
                return self._forget(requests, session)
        return None

    def pop_surplus(self) -> tuple[muster.Id, str] | None:
        """The oldest, if there are too many; of notifications first, as few are answered."""
        if len(self._tasks) + len(self._notifications) <= MOST_OPEN:
            return None
        requests = self._notifications or self._tasks
        oldest = next(iter(requests))
        return oldest, self._forget(requests, oldest)

    def of(self, session_ids: Iterable[str]) -> set[muster.Id]:
        return {session for one in session_ids for session in self._sessions.get(one, ())}

    def _forget(self, requests: "OrderedDict[muster.Id, str]", session: muster.Id) -> str:
        session_id = requests.pop(session)
        sessions = self._sessions[session_id]
        sessions.discard(session)
        if not sessions:
            del self._sessions[session_id]
        return session_id
