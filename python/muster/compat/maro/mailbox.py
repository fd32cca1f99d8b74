"""What has come and was not taken yet.

Whoever waits for something takes in whatever comes and leaves the rest for others, so
a wait for one session swallows no other's messages. Any thread may wait.
"""

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

import muster

from .envelope import unwrap
from .exception import DriverReceiveError
from .message import Message
from .sessions import Sessions

logger = logging.getLogger(__name__)

T = TypeVar("T")

# How often somebody who waits looks whether what it waits for will never come.
SECONDS_BETWEEN_LOOKS = 0.1


class Mailbox:
    """In front of `core`, whose sessions are `sessions`."""

    def __init__(self, core: muster.Proxy, sessions: Sessions) -> None:
        self._core = core
        self._sessions = sessions
        self._changed = threading.Condition()
        self._messages: deque[Message] = deque()
        self._asked: Counter[str] = Counter()
        self._is_pulling = False

    def next(self, timeout: float | None) -> Message | None:
        """The oldest message that nobody waits for by its session."""
        deadline = _deadline(timeout)
        with self._changed:
            return self._wait(self._take_any, deadline)

    def answers(self, ids: Iterable[str], timeout: float | None) -> tuple[list[Message], list[str]]:
        """The messages of these sessions, as far as they come in time, and why others
        will not come. An id that is named twice is waited for twice."""
        wanted = Counter(ids)
        deadline = _deadline(timeout)
        messages: list[Message] = []
        failures: list[str] = []
        with self._changed:
            self._asked += wanted
            remaining = Counter(wanted)
            try:
                while remaining:
                    found = self._wait(lambda: self._take_of(remaining), deadline)
                    if found is None:
                        break
                    session, message, failure = found
                    remaining.subtract([session])
                    if remaining[session] == 0:
                        del remaining[session]
                    if message is not None:
                        messages.append(message)
                    else:
                        failures.append(failure)
            finally:
                self._asked -= wanted
                self._changed.notify_all()
        return messages, failures

    def _take_any(self) -> Message | None:
        for message in self._messages:
            if message.session_id not in self._asked:
                self._messages.remove(message)
                return message
        return None

    def _take_of(self, ids: Counter[str]) -> tuple[str, Message | None, str] | None:
        for message in self._messages:
            if message.session_id in ids:
                self._messages.remove(message)
                return message.session_id, message, ""
        for session in ids:
            reason = self._sessions.take_failure(session)
            if reason is not None:
                return session, None, reason
        return None

    def _wait(self, take: Callable[[], T | None], deadline: float | None) -> T | None:
        while (found := take()) is None:
            left = SECONDS_BETWEEN_LOOKS
            if deadline is not None:
                left = max(0.0, min(left, deadline - time.monotonic()))
            came = self._changed.wait(left) if self._is_pulling else self._pull(left)
            if not came and deadline is not None and time.monotonic() >= deadline:
                return take()
        return found

    def _pull(self, timeout: float) -> bool:
        """Takes in one message, without the lock meanwhile. False: none came."""
        self._is_pulling = True
        self._changed.release()
        try:
            received = self._core.receive_once(timeout)
        finally:
            self._changed.acquire()
            self._is_pulling = False
            self._changed.notify_all()
        if received is not None:
            self._keep(received)
        return received is not None

    def _keep(self, received: muster.Message) -> None:
        session = self._sessions.answered(received)
        if received.is_failure:
            return
        if not received.is_request and received.stage == muster.Stage.RECEIVE and not received.body:
            return  # A receipt: no answer.
        try:
            message = unwrap(received)
        except DriverReceiveError as error:
            logger.warning("%s", error)
            if received.is_request:
                self._core.fail(received, str(error))
            return
        if session is not None:
            message.session_id = session
        self._messages.append(message)


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
