"""MARO's proxy, on Muster's."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import muster

from .carrier import Carrier
from .envelope import is_wrapped, wrap
from .exception import (
    FatalPeersMissError,
    PeersMissError,
)
from .message import (
    Message,
    NotificationSessionStage,
    SessionMessage,
    SessionType,
    Tag,
    TaskSessionStage,
    session_id_generator,
    the_one,
)
from .register_table import LivePeers, peer_type
from .settings import Settings


class Proxy(Carrier):
    """A component's end of the conversation, with the parameters of every MARO.

    Joins the group and waits for those that are expected; in the early form, with
    `peer_name_list`, join() or the first use does. Times are in milliseconds where a
    method is given one: None is the driver's default, less than 0 for ever, 0 not at all.
    """

    __signature__ = inspect.signature(Settings)

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
        return LivePeers(self._peers_now)

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
        peer = self._joined().peer(peer_name)
        if peer is not None:
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
        messages, failures = self._wait_for_answers(ids, timeout)
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
        if len(args) == 1 and "tag" not in kwargs:  # As in MARO 0.1.
            given = {"tag": args[0]}
        elif args and not any(isinstance(word, SessionType) for word in args[:2]):
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
        completion takes it for that. Of all else it is the answer.
        """
        received = the_one(message or received_message or [])
        answer = received.reply(tag, body, payload)
        answer.source = self._name
        if isinstance(answer, SessionMessage):
            answer.session_stage = _answered(answer.session_type, ack_reply)
        core, request = self._joined(), received._received
        try:
            is_of_its_own = request is None or not request.is_request or request.is_answered
            if is_of_its_own or self._is_kept_for(answer.destination):
                return self._post(answer, answer.destination, SessionType.NOTIFICATION)
            if ack_reply and _is_task(received):
                core.acknowledge(request, timeout=self._seconds_to_send())
            else:
                native = request.body is not None and not is_wrapped(request.body)
                said = answer.body if native else wrap(answer)
                core.reply(request, said, timeout=self._seconds_to_send())
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


def _is_task(message: Message) -> bool:
    """By MARO's words: a notification of its kind travels as a task of Muster's."""
    return isinstance(message, SessionMessage) and message.session_type is SessionType.TASK


def _answered(kind: SessionType, is_receipt: bool) -> Any:
    if kind is SessionType.NOTIFICATION:
        return NotificationSessionStage.RECEIVE
    return TaskSessionStage.RECEIVE if is_receipt else TaskSessionStage.COMPLETE
