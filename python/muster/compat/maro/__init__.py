"""The names of `maro.communication`, on top of Muster.

A program that was written for MARO's communication package (0.1 to 0.3, and the form
before it) runs when its import says `muster.compat.maro`. docs/guides/maro.md lists
what is different on purpose.
"""

from .dist_decorator import dist
from .driver import AbsDriver, ZmqDriver
from .exception import (
    ERROR_CODE,
    KILL_ALL_EXIT_CODE,
    NON_RESTART_EXIT_CODE,
    SUCCESS_EXIT_CODE,
    ConditionalEventSyntaxError,
    DriverReceiveError,
    DriverSendError,
    DriverTypeError,
    InformationUncompletedError,
    MAROException,
    MessageSessionTypeError,
    PeersConnectionError,
    PeersDisconnectionError,
    PeersMissError,
    PeersRejoinTimeout,
    PendingToSend,
    RedisConnectionError,
    SocketTypeError,
)
from .message import (
    Message,
    NotificationSessionStage,
    SessionMessage,
    SessionType,
    TaskSessionStage,
    session_id_generator,
)
from .proxy import Proxy
from .register_table import RegisterTable
from .settings import DriverType

__all__ = [
    "ERROR_CODE",
    "KILL_ALL_EXIT_CODE",
    "NON_RESTART_EXIT_CODE",
    "SUCCESS_EXIT_CODE",
    "AbsDriver",
    "ConditionalEventSyntaxError",
    "DriverReceiveError",
    "DriverSendError",
    "DriverType",
    "DriverTypeError",
    "InformationUncompletedError",
    "MAROException",
    "Message",
    "MessageSessionTypeError",
    "NotificationSessionStage",
    "PeersConnectionError",
    "PeersDisconnectionError",
    "PeersMissError",
    "PeersRejoinTimeout",
    "PendingToSend",
    "Proxy",
    "RedisConnectionError",
    "RegisterTable",
    "SessionMessage",
    "SessionType",
    "SocketTypeError",
    "TaskSessionStage",
    "ZmqDriver",
    "dist",
    "session_id_generator",
]
