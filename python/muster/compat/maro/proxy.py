"""MARO's proxy, on Muster's."""

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any

import muster

from .envelope import is_wrapped, wrap
from .exception import (
    DriverReceiveError,
    DriverSendError,
    FatalPeersMissError,
    FatalPeersRejoinTimeout,
    InformationUncompletedError,
    PeersMissError,
    RedisConnectionError,
)
from .mailbox import Mailbox
from .message import (
    Message,
    NotificationSessionStage,
    SessionMessage,
    SessionType,
    Tag,
    TaskSessionStage,
    session_id_generator,
    short_tag,
    the_one,
)
from .register_table import peer_type
from .sessions import Sessions
from .settings import Settings

logger = logging.getLogger(__name__)


class Proxy:
    """A component's end of the conversation, with the parameters of every MARO.

    Joins the group and waits for those that are expected; in the early form, with
    `peer_name_list`, join() or the first use does. Times are in milliseconds where a
    method is given one: None is the driver's default, less than 0 for ever, 0 not at all.
    """

    def __init__(self, group_name: str, *args: Any, **kwargs: Any) -> None:
        self._core: muster.Proxy | None = None
        self._settings = Settings(group_name, *args, **kwargs)
        self._name = self._settings.name
        self._sessions = Sessions()
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
                expected=settings.expected,
                absent_messages=settings.max_length_for_message_cache,
                timeout=settings.discovery_seconds,
                on_event=self._sessions.on_event,
            )
        except muster.TimedOutError as error:
            raise InformationUncompletedError(f"{self._name} joins: {error}") from error
        except muster.UnavailableError as error:
            raise RedisConnectionError(f"{self._name} joins: {error}") from error
        self._mailbox = Mailbox(self._core, self._sessions)

    @property
    def group_name(self) -> str:
        return self._settings.group_name

    @property
    def name(self) -> str:
        return self._name

    component_name = name

    @property
    def component_type(self) -> str:
        return self._settings.component_type

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def peers(self) -> dict[str, list[str]]:
        """Who is there now, by type."""
        core = self._joined()
        if self._settings.is_early:
            names = {peer.name for peer in core.peers if peer.presence == "here"}
            return {name: [name] for name in sorted(names)}
        return {kind: core.peer_names(kind) for kind in self._settings.peer_counts}

    peers_name = peers

    def get_peers(self, component_type: str = "*") -> list[str]:
        """The names of a type, or of all."""
        peers = self.peers
        if component_type == "*":
            return [name for names in peers.values() for name in names]
        if component_type not in peers:
            raise PeersMissError(f"{self._name} knows no peers of type {component_type}")
        return peers[component_type]

    def get_peer_type(self, peer_name: str) -> str:
        for peer in self._joined().peers:
            if peer.name == peer_name:
                return peer.type
        if peer_type(peer_name) in self._settings.peer_counts:
            return peer_type(peer_name)
        raise FatalPeersMissError(f"{self._name} knows no peer {peer_name}")

    def send(
        self, message: "Message | str", timeout: "float | Message | None" = None
    ) -> "list[Message] | None":
        """Sends, and waits for the replies; None if the peer is gone.

        In the early form, send(name, message), it waits for nothing.
        """
        if isinstance(message, str):
            assert isinstance(timeout, Message)
            self._post(timeout, message, SessionType.NOTIFICATION)
            return None
        assert not isinstance(timeout, Message)
        ids = self.isend(message)
        if ids is None:
            return None
        messages, failures = self._mailbox.answers(ids, self._seconds(timeout))
        if failures and not messages:
            self._give_up(failures[0], message.destination)
            return None
        return messages

    def isend(self, message: "Message | str", second: Message | None = None) -> list[str] | None:
        """Sends without waiting for replies: receive_by_id() has them, or receive()."""
        if isinstance(message, str):
            assert second is not None
            return self._post(second, message, SessionType.NOTIFICATION)
        is_request = getattr(message, "session_stage", TaskSessionStage.REQUEST) in (
            TaskSessionStage.REQUEST,
            NotificationSessionStage.REQUEST,
        )
        kind = SessionType.TASK if is_request else SessionType.NOTIFICATION
        return self._post(message, message.destination, kind)

    def scatter(
        self,
        tag: Tag,
        session_type: SessionType,
        destination_body_list: Iterable[tuple[str, Any]] | None = None,
        timeout: "float | str | None" = -1,
        *,
        destination_payload_list: Iterable[tuple[str, Any]] | None = None,
        session_id: str | None = None,
    ) -> list[Message]:
        """Sends each its own body, and waits for the replies of all."""
        if isinstance(timeout, str):  # As the fourth in MARO 0.1.
            session_id, timeout = timeout, -1
        bodies = destination_body_list or destination_payload_list or []
        return self._answers(self.iscatter(tag, session_type, bodies, session_id), timeout)

    def iscatter(
        self,
        tag: Tag,
        session_type: SessionType,
        destination_body_list: Iterable[tuple[str, Any]] | None = None,
        session_id: str | None = None,
        *,
        destination_payload_list: Iterable[tuple[str, Any]] | None = None,
    ) -> list[str]:
        """Sends each its own body; returns the ids of the sessions."""
        ids: list[str] = []
        for destination, body in destination_body_list or destination_payload_list or []:
            message = SessionMessage(
                tag,
                self._name,
                destination,
                body,
                session_type=session_type,
                session_id=session_id,
            )
            ids += self.isend(message) or []
        return ids

    def broadcast(self, *args: Any, **kwargs: Any) -> list[Message]:
        """broadcast(component_type, tag, session_type, body=None, timeout=None): one body
        to all of a type, and the replies of all. In MARO 0.1 without the type: to everybody."""
        timeout = kwargs.pop("timeout", None)
        if len(args) == 5 and isinstance(args[2], SessionType):
            timeout = args[4]
            args = args[:4]
        return self._answers(self.ibroadcast(*args, **kwargs), timeout)

    def ibroadcast(self, *args: Any, **kwargs: Any) -> list[str]:
        """The same without waiting. The session's id is returned once for each peer."""
        if args and not any(isinstance(word, SessionType) for word in args[:2]):
            args, kwargs["component_type"] = args[1:], args[0]
            given = dict(zip(("tag", "session_type", "body"), args, strict=False))
        else:
            given = dict(zip(("tag", "session_type", "session_id", "payload"), args, strict=False))
        return self._ibroadcast(**given, **kwargs)

    def _ibroadcast(
        self,
        tag: Tag,
        session_type: SessionType,
        component_type: str = "*",
        body: Any = None,
        session_id: str | None = None,
        payload: Any = None,
    ) -> list[str]:
        if component_type != "*" and component_type not in self.peers:
            raise FatalPeersMissError(f"broadcast: there is no type {component_type}")
        session_id = session_id or session_id_generator(self._name, component_type)
        content = body if body is not None else payload
        pairs = [(name, content) for name in self.get_peers(component_type)]
        return self.iscatter(tag, session_type, pairs, session_id)

    def receive(
        self, *args: Any, is_continuous: bool = True, timeout: float | None = None
    ) -> Iterator[Message]:
        """Messages, until none comes for as long as `timeout`; one, if not is_continuous."""
        for given in args:
            if isinstance(given, bool):
                is_continuous = given
            else:
                timeout = given
        self._joined()
        while (message := self._next(self._seconds(timeout))) is not None:
            yield message
            if not is_continuous:
                return

    def receive_once(self, timeout: float | None = None) -> Message | None:
        """The next message, or None if there is none in time."""
        self._joined()
        return self._next(self._seconds(timeout))

    def receive_by_id(
        self,
        targets: "str | list[str] | None" = None,
        timeout: float | None = None,
        *,
        session_id_list: list[str] | None = None,
    ) -> list[Message] | None:
        """The messages of these sessions, as far as they come within the time in all."""
        ids = targets if targets is not None else session_id_list
        if not isinstance(ids, str | list):
            return None
        return self._answers([ids] if isinstance(ids, str) else ids, timeout)

    def reply(
        self,
        message: "Message | list[Message] | None" = None,
        tag: Tag | None = None,
        body: Any = None,
        ack_reply: bool = False,
        *,
        payload: Any = None,
        received_message: "Message | list[Message] | None" = None,
    ) -> list[str] | None:
        """Answers a message that was received, and changes nothing of it.

        An acknowledging reply tells that a task was taken; nobody who waits for the
        completion takes it for that.
        """
        received = the_one(message or received_message or [])
        answer = received.reply(tag, body, payload)
        answer.source = self._name
        if isinstance(answer, SessionMessage):
            answer.session_stage = _answered(answer.session_type, ack_reply)
        core, request = self._joined(), received._received
        try:
            if request is None or not request.is_request or request.is_answered:
                return self._post(answer, answer.destination, SessionType.NOTIFICATION)
            if ack_reply:
                core.acknowledge(request)
            else:
                native = request.body is not None and not is_wrapped(request.body)
                core.reply(request, answer.body if native else wrap(answer))
        except muster.Error as error:
            self._not_sent(error, answer.destination)
            return None
        return [answer.session_id]

    def forward(
        self,
        message: "Message | list[Message] | None" = None,
        destination: str = "",
        tag: Tag | None = None,
        body: Any = None,
        *,
        payload: Any = None,
        received_message: "Message | list[Message] | None" = None,
    ) -> list[str] | None:
        """Sends a message on, in the same session. Without a new body it keeps its own."""
        onward = the_one(message or received_message or []).forward(destination, tag, body, payload)
        onward.source = self._name
        return self.isend(onward)

    def close(self) -> None:
        """Sends what is queued, and leaves the group."""
        if self._core is None or self._is_closed:
            return
        self._is_closed = True
        try:
            self._core.leave(timeout=5)
        except muster.Error as error:
            logger.warning("%s leaves: %s", self._name, error)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:
            self._core = None  # It says goodbye by itself.

    def _joined(self) -> muster.Proxy:
        self.join()
        assert self._core is not None
        return self._core

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
        messages, failures = self._mailbox.answers(ids, self._seconds(timeout))
        for failure in failures:
            logger.warning("%s waits for a reply: %s", self._name, failure)
        return messages

    def _post(self, message: Message, destination: str, kind: SessionType) -> list[str] | None:
        core = self._joined()
        message.source = message.source or self._name
        message.destination = destination
        self._wait_for_minimum(core)
        waits = self._settings.enable_message_cache_for_rejoin
        deadline = time.monotonic() + (self._seconds_to_send() or float("inf"))
        while True:
            try:
                session = core.isend(
                    short_tag(message.tag),
                    destination,
                    wrap(message),
                    session_type=muster.SessionType[kind.name],
                    answers=muster.Answers.TO_RECEIVE if kind is SessionType.TASK else None,
                    on_loss=muster.OnLoss.WAIT if waits else muster.OnLoss.FAIL,
                )
                break
            except muster.OverloadedError as error:
                if time.monotonic() > deadline:
                    self._not_sent(error, destination)
                    return None
                time.sleep(0.002)
            except muster.Error as error:
                self._not_sent(error, destination)
                return None
        if kind is SessionType.TASK:
            too_old = self._sessions.opened(session, message.session_id)
            if too_old is not None:
                core.cancel(too_old)
        return [message.session_id]

    def _seconds_to_send(self) -> float | None:
        milliseconds = self._settings.milliseconds("send_timeout")
        return None if milliseconds < 0 else milliseconds / 1000

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
            logger.warning("%s is away; its message was dropped", destination)
            return
        if settings.fault_tolerant:
            logger.warning("%s sends to %s: %s", self._name, destination, error)
            return
        if isinstance(error, muster.NotFoundError):
            raise FatalPeersMissError(f"{self._name} knows no peer {destination}") from error
        raise DriverSendError(f"{self._name} sends to {destination}: {error}") from error

    def _give_up(self, why: str, destination: str) -> None:
        if destination in self.get_peers("*"):
            raise DriverReceiveError(f"{destination}: {why}")
        logger.warning("%s is gone: %s", destination, why)

    def _tell_failure(self, message: Message, error: Exception) -> None:
        """To who waits for the answer of a handler that raised."""
        request = message._received
        if request is None or not request.is_request or request.is_answered:
            return
        try:
            self._joined().fail(request, f"{type(error).__name__}: {error}")
        except muster.Error as trouble:
            logger.warning("%s tells of a failure: %s", self._name, trouble)


def _answered(kind: SessionType, is_receipt: bool) -> Any:
    if kind is SessionType.NOTIFICATION:
        return NotificationSessionStage.RECEIVE
    return TaskSessionStage.RECEIVE if is_receipt else TaskSessionStage.COMPLETE
