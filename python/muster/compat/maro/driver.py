"""MARO's drivers, for programs that use one by itself.

`Proxy` needs none of these: Muster picks what carries its messages.
"""

import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import muster

from .envelope import unwrap, wrap
from .exception import (
    DriverReceiveError,
    DriverSendError,
    PeersConnectionError,
    PeersDisconnectionError,
    PendingToSend,
    SocketTypeError,
)
from .message import Message, short_tag
from .room import seconds_to_send, wait_for_room

GROUP = "maro-drivers"
KEY = "muster"
CONNECT_SECONDS = 10.0


class AbsDriver(ABC):
    """What carries messages between components that know each other's addresses."""

    @property
    @abstractmethod
    def address(self) -> dict[Any, str]:
        """What others connect() to."""

    @abstractmethod
    def connect(self, peers_address: Mapping[str, Mapping[Any, str]]) -> None:
        """From now on these can be sent to, by name."""

    @abstractmethod
    def disconnect(self, peers_address: Mapping[str, Mapping[Any, str]]) -> None:
        """From now on sending to these raises PendingToSend."""

    @abstractmethod
    def receive(
        self, is_continuous: bool = True, timeout: float | None = None
    ) -> Iterator[Message]:
        """Messages, until none comes in time."""

    @abstractmethod
    def receive_once(self, timeout: float | None = None) -> Message | None:
        """One, or None if none comes in time."""

    @abstractmethod
    def send(self, message: Message) -> None:
        """To the message's destination."""

    @abstractmethod
    def broadcast(self, component_type: str, message: Message) -> None:
        """To all of a type that are connected."""

    @abstractmethod
    def close(self) -> None:
        """Ends it."""


class ZmqDriver(AbsDriver):
    """Goes by MARO's name; what it is made of is a proxy of Muster's in a group of its own."""

    def __init__(
        self,
        component_type: str,
        protocol: str = "tcp",
        send_timeout: float = -1,
        receive_timeout: float = -1,
        logger: Any = None,
    ) -> None:
        self._receive_timeout = receive_timeout
        self._seconds_to_send = seconds_to_send(send_timeout)
        self._logger = logger or logging.getLogger(__name__)
        name = f"{component_type}_{uuid.uuid4().hex}"
        self._core = muster.Proxy(GROUP, component_type, name=name, expected=[])
        self._peers: dict[str, str] = {}  # What they are called here, and in the group.
        self._gone: set[str] = set()

    @property
    def address(self) -> dict[Any, str]:
        return {KEY: self._core.name}

    def connect(self, peers_address: Mapping[str, Mapping[Any, str]]) -> None:
        for peer, address in peers_address.items():
            if set(address) != {KEY}:
                wrong = SocketTypeError(f"{peer}: there is no socket of type {set(address)}")
                raise PeersConnectionError(f"connect to {peer}: {wrong}") from wrong
            try:
                self._core.wait_for_peers([address[KEY]], timeout=CONNECT_SECONDS)
            except muster.Error as error:
                raise PeersConnectionError(f"connect to {peer}: {error}") from error
            self._peers[peer] = address[KEY]
            self._gone.discard(peer)

    def disconnect(self, peers_address: Mapping[str, Mapping[Any, str]]) -> None:
        for peer in peers_address:
            if self._peers.pop(peer, None) is None:
                raise PeersDisconnectionError(f"disconnect from {peer}: it is not connected")
            self._gone.add(peer)

    def receive(
        self, is_continuous: bool = True, timeout: float | None = None
    ) -> Iterator[Message]:
        while (message := self.receive_once(timeout)) is not None:
            yield message
            if not is_continuous:
                return

    def receive_once(self, timeout: float | None = None) -> Message | None:
        milliseconds = self._receive_timeout if timeout is None else timeout
        try:
            received = self._core.receive_once(None if milliseconds < 0 else milliseconds / 1000)
        except muster.Error as error:
            raise DriverReceiveError(f"receive: {error}") from error
        if received is None:
            return None
        message = unwrap(received)
        message.source = received.body.get("source", message.source)
        message.destination = received.body.get("destination", message.destination)
        return message

    def send(self, message: Message) -> None:
        if message.destination in self._gone:
            raise PendingToSend(f"send to {message.destination}: it was disconnected")
        if message.destination not in self._peers:
            raise DriverSendError(f"send to {message.destination}: it is not connected")
        self._post(message, self._peers[message.destination])

    def broadcast(self, component_type: str, message: Message) -> None:
        kinds = {peer.name: peer.type for peer in self._core.peers}
        for name in self._peers.values():
            if kinds.get(name) == component_type:
                self._post(message, name)

    def close(self) -> None:
        try:
            self._core.leave(timeout=5)
        except muster.Error as error:
            self._logger.warning(f"close a driver: {error}")

    def _post(self, message: Message, name: str) -> None:
        body = wrap(message) | {"source": message.source, "destination": message.destination}
        try:
            wait_for_room(
                lambda: self._core.isend(
                    short_tag(message.tag), name, body, muster.SessionType.NOTIFICATION
                ),
                self._seconds_to_send,
            )
        except muster.Error as error:
            raise DriverSendError(f"send to {message.destination}: {error}") from error
