"""What is behind MARO's proxy: joining, posting, and telling what went wrong."""

import logging
from typing import Any

import muster

from .absent import Absent
from .envelope import wrap
from .exception import (
    DriverReceiveError,
    DriverSendError,
    FatalPeersMissError,
    FatalPeersRejoinTimeout,
    FatalRedisConnectionError,
    InformationUncompletedError,
)
from .mailbox import Mailbox
from .message import Message, SessionType, short_tag
from .room import seconds_to_send, wait_for_room
from .sessions import Sessions
from .settings import Settings

logger = logging.getLogger(__name__)
silence = logging.Logger("silence", logging.CRITICAL + 1)


class Carrier:
    """A proxy of Muster's, and what MARO wants to know of it."""

    def __init__(self, group_name: str, *args: Any, **kwargs: Any) -> None:
        self._core: muster.Proxy | None = None
        self._settings = Settings(group_name, *args, **kwargs)
        self._name = self._settings.name
        self._sessions = Sessions()
        self._absent = Absent(self._settings.max_length_for_message_cache)
        self._log = self._settings.logger or (logger if self._settings.log_enable else silence)
        self._is_closed = False
        if not self._settings.is_early:
            self.join()

    def join(self) -> None:
        """Enters the group, if that has not been done, and waits for the peers."""
        if self._core is not None:
            return
        settings = self._settings
        registry = settings.registry()
        try:
            self._core = muster.Proxy(
                settings.group,
                settings.component_type,
                name=self._name,
                registry=registry or None,
                listen=settings.listen,
                expected=settings.expected,
                absent_messages=settings.max_length_for_message_cache,
                timeout=settings.discovery_seconds,
                on_event=self._sessions.on_event,
            )
        except muster.TimedOutError as error:
            raise InformationUncompletedError(f"{self._name} joins: {error}") from error
        except muster.UnavailableError as error:
            raise FatalRedisConnectionError(f"{self._name} joins: {error}") from error
        self._mailbox = Mailbox(self._core, self._sessions, self._seconds_to_send())

    def close(self) -> None:
        """Sends what is queued, and leaves the group."""
        if self._core is None or self._is_closed:
            return
        self._is_closed = True
        try:
            self._core.leave(timeout=5)
        except muster.Error as error:
            self._log.warning("%s leaves: %s", self._name, error)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:
            self._core = None  # It says goodbye by itself.

    def _joined(self) -> muster.Proxy:
        self.join()
        assert self._core is not None
        return self._core

    def _peers_now(self) -> dict[str, list[str]]:
        core = self._joined()
        if self._settings.is_early:
            names = {peer.name for peer in core.peers if peer.presence == "here"}
            return {name: [name] for name in sorted(names)}
        return {kind: core.peer_names(kind) for kind in self._settings.peer_counts}

    def _seconds(self, timeout: float | None) -> float | None:
        milliseconds = (
            self._settings.milliseconds("receive_timeout") if timeout is None else timeout
        )
        return None if milliseconds < 0 else milliseconds / 1000

    def _next(self, seconds: float | None) -> Message | None:
        try:
            return None if self._is_closed else self._mailbox.next(seconds)
        except muster.CancelledError:
            return None

    def _answers(self, ids: list[str], timeout: float | None) -> list[Message]:
        self._joined()
        messages, failures = self._wait_for_answers(ids, timeout)
        for failure in failures:
            self._log.warning("%s waits for a reply: %s", self._name, failure)
        return messages

    def _wait_for_answers(
        self, ids: list[str], timeout: float | None
    ) -> tuple[list[Message], list[str]]:
        try:
            return self._mailbox.answers(ids, self._seconds(timeout))
        except muster.CancelledError as error:
            raise DriverReceiveError(f"{self._name} waits for replies: {error}") from error

    def _post(self, message: Message, destination: str, kind: SessionType) -> list[str] | None:
        core = self._joined()
        message.source = message.source or self._name
        message.destination = destination
        self._wait_for_minimum(core)
        if self._is_kept_for(destination):
            self._keep(destination, message, kind)
            return None
        ids = self._send_kept(core, destination)
        sent = self._carry(core, message, kind)
        return None if sent is None else ids + sent

    def _send_kept(self, core: muster.Proxy, destination: str) -> list[str]:
        """What has waited for this peer. Gives the ids of those that are to be answered."""
        ids: list[str] = []
        while (kept := self._absent.take_oldest(destination)) is not None:
            message, kind = kept
            if self._carry(core, message, kind) is None:
                break
            if kind is SessionType.TASK:
                ids.append(message.session_id)
        return ids

    def _is_kept_for(self, destination: str) -> bool:
        """Whether it is away, and messages wait for its return."""
        settings = self._settings
        if not (settings.enable_rejoin and settings.enable_message_cache_for_rejoin):
            return False
        peer = self._joined().peer(destination)
        return peer is not None and peer.presence in ("left", "lost")

    def _keep(self, destination: str, message: Message, kind: SessionType) -> None:
        self._log.warning(
            "%s is away; its message waits for the first after its return", destination
        )
        self._absent.keep(destination, message, kind)

    def _carry(self, core: muster.Proxy, message: Message, kind: SessionType) -> list[str] | None:
        destination = message.destination
        waits = self._settings.enable_message_cache_for_rejoin
        tag, body = short_tag(message.tag), wrap(message)

        def send() -> muster.Id:
            return core.isend(
                tag,
                destination,
                body,
                session_type=muster.SessionType[kind.name],
                answers=muster.Answers.TO_RECEIVE if kind is SessionType.TASK else None,
                on_loss=muster.OnLoss.WAIT if waits else muster.OnLoss.FAIL,
            )

        try:
            session = wait_for_room(send, self._seconds_to_send())
        except muster.Error as error:
            if self._is_kept_for(destination):  # It has left in this moment.
                self._keep(destination, message, kind)
            else:
                self._not_sent(error, destination)
            return None
        if kind is SessionType.TASK:
            is_news = getattr(message, "session_type", None) is SessionType.NOTIFICATION
            surplus = self._sessions.opened(session, message.session_id, is_news)
            if surplus is not None:
                core.cancel(surplus)
        return [message.session_id]

    def _seconds_to_send(self) -> float:
        return seconds_to_send(self._settings.milliseconds("send_timeout"))

    def _wait_for_minimum(self, core: muster.Proxy) -> None:
        settings = self._settings
        if not settings.enable_rejoin or core.has_peers(settings.minimum):
            return
        try:
            core.wait_for_peers(settings.minimum, timeout=settings.timeout_for_minimal_peer_number)
        except muster.TimedOutError as error:
            raise FatalPeersRejoinTimeout(f"{self._name} waits for its peers: {error}") from error

    def _not_sent(self, error: muster.Error, destination: str) -> None:
        settings = self._settings
        if isinstance(error, muster.UnavailableError) and settings.enable_rejoin:
            self._log.warning("%s is away; its message was dropped", destination)
            return
        if settings.fault_tolerant:
            self._log.warning("%s sends to %s: %s", self._name, destination, error)
            return
        if isinstance(error, muster.NotFoundError):
            raise FatalPeersMissError(f"{self._name} knows no peer {destination}") from error
        raise DriverSendError(f"{self._name} sends to {destination}: {error}") from error

    def _give_up(self, why: str, destination: str) -> None:
        peer = self._joined().peer(destination)
        if peer is not None and peer.presence == "here":
            raise DriverReceiveError(f"{destination}: {why}")
        self._log.warning("%s is gone: %s", destination, why)

    def _tell_failure(self, message: Message, error: Exception) -> None:
        """To who waits for the answer of a handler that raised."""
        request = message._received
        if request is None or not request.is_request or request.is_answered:
            return
        try:
            why = f"{type(error).__name__}: {error}"
            self._joined().fail(request, why, timeout=self._seconds_to_send())
        except muster.Error as trouble:
            self._log.warning("%s tells of a failure: %s", self._name, trouble)
