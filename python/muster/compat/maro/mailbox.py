"""What has come and was not taken yet.

Whoever waits for something takes in whatever comes and leaves the rest for others, so
a wait for one session swallows no other's messages. Any thread may wait.
"""

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

import muster

from .envelope import unwrap
from .exception import DriverReceiveError
from .message import Message
from .sessions import Sessions

logger = logging.getLogger(__name__)

# How often somebody who waits looks whether what it waits for will never come.
SECONDS_BETWEEN_LOOKS = 0.1

# What others may have sent unasked while somebody waits for replies. More is refused. The
# replies to what was asked here are kept in any case: there are no more than questions.
MOST_MESSAGES = 65_536
MOST_BYTES = 1 << 30


class Waiter:
    """Somebody who waits for the messages of these sessions; one that is named twice, twice."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.remaining = Counter(ids)
        self.messages: list[Message] = []
        self.failures: list[str] = []

    def wants(self, session: str) -> bool:
        return session in self.remaining

    def take(self, message: Message) -> None:
        self.messages.append(message)
        self._had(message.session_id)

    def give_up(self, session: str, reason: str) -> None:
        self.failures.append(reason)
        self._had(session)

    def _had(self, session: str) -> None:
        self.remaining[session] -= 1
        if self.remaining[session] == 0:
            del self.remaining[session]


class Mailbox:
    """In front of `core`, whose sessions are `sessions`."""

    def __init__(self, core: muster.Proxy, sessions: Sessions, seconds_to_send: float) -> None:
        self._core = core
        self._seconds_to_send = seconds_to_send
        self._sessions = sessions
        self._changed = threading.Condition()
        self._messages: deque[Message] = deque()
        self._unasked, self._unasked_bytes, self._refused = 0, 0, 0
        self._waiters: list[Waiter] = []
        self._ended: set[muster.Id] = set()  # Yet open for all that is known here.
        self._is_pulling = False

    def next(self, timeout: float | None) -> Message | None:
        """The oldest message that nobody waits for by its session."""
        with self._changed:
            if not self._wait(lambda: bool(self._messages), _deadline(timeout)):
                return None
            message = self._messages.popleft()
            self._count(message, -1)
            return message

    def answers(self, ids: Iterable[str], timeout: float | None) -> tuple[list[Message], list[str]]:
        """The messages of these sessions, as far as they come in time, and why others
        will not come. An id that is named twice is waited for twice."""
        waiter = Waiter(ids)
        deadline = _deadline(timeout)
        with self._changed:
            self._hand_out(waiter)
            self._waiters.append(waiter)
            try:
                self._wait(lambda: self._is_served(waiter), deadline)
            except BaseException:  # Ctrl-C: what has come is there for the next who asks.
                for message in reversed(waiter.messages):
                    self._messages.appendleft(message)
                    self._count(message, 1)
                raise
            finally:
                self._waiters.remove(waiter)
                self._changed.notify_all()
        return waiter.messages, waiter.failures

    def _hand_out(self, waiter: Waiter) -> None:
        """What came before somebody asked for it."""
        left: deque[Message] = deque()
        for message in self._messages:
            if waiter.wants(message.session_id):
                waiter.take(message)
                self._count(message, -1)
            else:
                left.append(message)
        self._messages = left

    def _is_served(self, waiter: Waiter) -> bool:
        for session, reason in self._sessions.take_failures(waiter.remaining):
            waiter.give_up(session, reason)
        return not waiter.remaining

    def _wait(self, is_over: Callable[[], bool], deadline: float | None) -> bool:
        """False: not in time."""
        while not is_over():
            left = SECONDS_BETWEEN_LOOKS
            if deadline is not None:
                left = max(0.0, min(left, deadline - time.monotonic()))
            if self._is_pulling:
                self._changed.wait(left)
            else:
                self._pull(left)
            if deadline is not None and time.monotonic() >= deadline:
                self._take_in_what_waits()
                return is_over()
        return True

    def _take_in_what_waits(self) -> None:
        """What has come in time stands behind other messages, and more may come for ever."""
        for _ in range(self._core.counters["waiting"]):
            if self._is_pulling:
                return
            self._pull(0.0)

    def _pull(self, timeout: float) -> None:
        """Takes in one message, if one comes, without the lock meanwhile."""
        self._is_pulling = True
        self._changed.release()
        try:
            received = self._core.receive_once(timeout)
        finally:
            self._changed.acquire()
            self._is_pulling = False
            self._changed.notify_all()
        if received is None:
            self._look_for_ended()
        else:
            self._take_in(received)

    def _look_for_ended(self) -> None:
        """Nothing came. What had ended at the last such look, and was not answered until now, will
        not be: its answer would have been taken in meanwhile."""
        wanted = {session for waiter in self._waiters for session in waiter.remaining}
        sessions = self._sessions.open_of(wanted)
        ended = {one for one in sessions if self._core.session_state(one) is None}
        self._sessions.lost(ended & self._ended)
        self._ended = ended

    def _take_in(self, received: muster.Message) -> None:
        session = self._sessions.answered(received)
        if received.is_failure:
            return
        if not received.is_request and received.stage == muster.Stage.RECEIVE and not received.body:
            return  # A receipt: no answer.
        try:
            message = unwrap(received)
        except DriverReceiveError as error:
            logger.warning("%s", error)
            self._refuse(received, str(error))
            return
        if session is not None:
            message.session_id = session
        self._deliver(message)

    def _deliver(self, message: Message) -> None:
        for waiter in self._waiters:
            if waiter.wants(message.session_id):
                waiter.take(message)
                return
        if _is_unasked(message) and self._is_full(message._received.nbytes):
            self._refuse_for_want_of_room(message._received)
            return
        self._messages.append(message)
        self._count(message, 1)

    def _is_full(self, more: int) -> bool:
        if self._unasked == 0:
            return False  # One is always taken, whatever its size.
        return self._unasked >= MOST_MESSAGES or self._unasked_bytes + more > MOST_BYTES

    def _refuse_for_want_of_room(self, received: muster.Message) -> None:
        self._refused += 1
        why = (
            f"{self._core.name} waits for replies, and has {self._unasked} messages of "
            f"{self._unasked_bytes} bytes that nobody has received; send fewer, or have it "
            "call receive() before it waits again"
        )
        if self._refused.bit_count() == 1:  # The first, the second, the fourth ...
            logger.warning("%d refused, now of %s: %s", self._refused, received.source, why)
        self._refuse(received, why)

    def _count(self, message: Message, step: int) -> None:
        if _is_unasked(message):
            self._unasked += step
            self._unasked_bytes += step * message._received.nbytes

    def _refuse(self, received: muster.Message, why: str) -> None:
        """Who waits for an answer is told why there is none."""
        if not received.is_request or received.session_type != muster.SessionType.TASK:
            return
        try:
            self._core.fail(received, why, timeout=self._seconds_to_send)
        except muster.Error as error:  # It is gone, or does not listen.
            logger.warning("%s is not told: %s", received.source, error)


def _is_unasked(message: Message) -> bool:
    return bool(message._received.is_request)


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
