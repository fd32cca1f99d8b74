"""What a proxy can be told, by the names of every version of MARO."""

import hashlib
import ipaddress
import os
import re
import socket
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .exception import (
    FatalDriverTypeError,
    FatalRedisConnectionError,
    InformationUncompletedError,
    PeersMissError,
)

REDIS_HOST, REDIS_PORT = "localhost", 6379
PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class DriverType(Enum):
    """What carries messages. Muster itself picks shared memory or TCP."""

    ZMQ = "zmq_driver"


@dataclass
class Settings:
    """The parameters of `Proxy`; see MARO 0.3 for what they mean there."""

    group_name: str
    component_type: str = ""
    expected_peers: Any = None
    component_name: str | None = None
    driver_type: Any = DriverType.ZMQ
    driver_parameters: Mapping[str, Any] | None = None
    redis_address: tuple[str, int] = (REDIS_HOST, REDIS_PORT)
    initial_redis_connect_retry_interval: float = 0.1
    max_redis_connect_retries: int = 10
    initial_peer_discovery_retry_interval: float = 0.1
    max_peer_discovery_retries: int = 10
    enable_rejoin: bool = False
    minimal_peers: "int | Mapping[str, int]" = 1
    peers_catch_lifetime: float = 10  # Who is there is always known; nothing grows old.
    enable_message_cache_for_rejoin: bool = False
    max_length_for_message_cache: int = 1024
    timeout_for_minimal_peer_number: float = 300
    is_remove_failed_container: bool = False
    max_rejoin_times: int = 5
    # Until 0.2.
    max_retries: int | None = None
    retry_interval_base_value: float | None = None
    base_retry_interval: float | None = None
    log_enable: bool = True
    fault_tolerant: bool = False
    # Before components had types.
    peer_name_list: Iterable[str] | None = None
    multithread: bool = False
    protocol: str = "tcp"
    retry_interval: float | None = None
    logger: Any = None
    msg_request: Any = None
    peer_counts: dict[str, int] = field(default_factory=dict, init=False)
    # Of this host, as Redis sees it; known once registry() is.
    own_address: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if isinstance(self.component_name, DriverType):
            # By position, versions before 0.3 have no name here.
            first, second, third = self.component_name, self.driver_type, self.driver_parameters
            self.component_name, self.driver_type = None, first
            self.driver_parameters = second if isinstance(second, Mapping) else None
            if isinstance(third, tuple):
                self.redis_address = third
        if self.driver_type is not DriverType.ZMQ:
            raise FatalDriverTypeError(f"there is no driver {self.driver_type!r}; use DriverType")
        unknown = set(self.driver_parameters or ()) - {
            "protocol",
            "send_timeout",
            "receive_timeout",
        }
        if unknown:
            raise TypeError(f"driver_parameters: there is no {', '.join(sorted(unknown))}")
        if self.max_retries is not None:
            self.max_peer_discovery_retries = self.max_retries
        for interval in (
            self.retry_interval_base_value,
            self.base_retry_interval,
            self.retry_interval,
        ):
            if interval is not None:
                self.initial_peer_discovery_retry_interval = interval
        if self.is_early:
            self.component_type = self.component_type or str(self.component_name)
        self.peer_counts = {} if self.is_early else self._counts()

    @property
    def is_early(self) -> bool:
        """Whether peers are named one by one, as before there were types."""
        return self.peer_name_list is not None

    def _counts(self) -> dict[str, int]:
        """From {"worker": 3}, or from [("worker", 3)], as MARO's own page writes it."""
        if not self.component_type:
            raise TypeError("make a proxy: it needs a component_type")
        counts = dict(self.expected_peers or ())
        if not counts:
            raise PeersMissError(f"a {self.component_type} of {self.group_name} expects nobody")
        if any(count < 1 for count in counts.values()):
            raise InformationUncompletedError(f"expected_peers: {counts} has a count below 1")
        return counts

    @property
    def group(self) -> str:
        """A name that Muster takes: with other letters, something that tells it apart."""
        if PLAIN.fullmatch(self.group_name):
            return self.group_name
        digest = hashlib.sha256(self.group_name.encode()).hexdigest()[:12]
        return re.sub(r"[^A-Za-z0-9_.-]", "-", self.group_name)[:50] + "-" + digest

    @property
    def name(self) -> str:
        """A container that is started again has its old name in COMPONENT_NAME."""
        given = self.component_name or os.environ.get("COMPONENT_NAME")
        return given or f"{self.component_type}_{uuid.uuid1().hex}"[:64]

    @property
    def expected(self) -> list[Any]:
        if self.is_early:
            return list(self.peer_name_list or ())
        return list(self.peer_counts.items())

    @property
    def minimum(self) -> list[tuple[str, int]]:
        """How many of each type there must be to go on."""
        if isinstance(self.minimal_peers, Mapping):
            least = {kind: self.minimal_peers.get(kind, 1) for kind in self.peer_counts}
        else:
            least = dict.fromkeys(self.peer_counts, self.minimal_peers)
        return [(kind, max(1, count)) for kind, count in least.items()]

    @property
    def discovery_seconds(self) -> float:
        """How long MARO looks for peers in all."""
        looks = int(2**self.max_peer_discovery_retries) - 1
        return self.initial_peer_discovery_retry_interval * looks

    def milliseconds(self, which: str) -> float:
        return float((self.driver_parameters or {}).get(which, -1))

    def registry(self) -> str:
        """Where components find each other: Redis if it is there, else, on the usual
        port only, without a server."""
        host, port = self.redis_address
        interval = self.initial_redis_connect_retry_interval
        is_usual = host in (REDIS_HOST, "127.0.0.1") and port == REDIS_PORT
        attempts = 1 if is_usual else max(1, self.max_redis_connect_retries)
        for attempt in range(attempts):
            if attempt > 0:
                time.sleep(interval * 2 ** (attempt - 1))
            if own := own_address(host, port):
                self.own_address = own
                return f"redis://{host}:{port}"
        if is_usual:
            return ""
        raise FatalRedisConnectionError(f"connect to Redis at {host}:{port}: nobody answers")

    @property
    def listen(self) -> list[str] | None:
        """Where others reach this component, once registry() is known: with a Redis on another
        host, also from other hosts. None is Muster's default, this host alone."""
        if not self.own_address or ipaddress.ip_address(self.own_address).is_loopback:
            return None
        host = f"[{self.own_address}]" if ":" in self.own_address else self.own_address
        return ["shm://*", f"tcp://{host}:0"]


def own_address(host: str, port: int) -> str:
    """The address by which this host reaches that one; empty if nobody answers there."""
    try:
        with socket.create_connection((host, port), timeout=1) as link:
            own: str = link.getsockname()[0]
            return own.partition("%")[0]
    except OSError:
        return ""
