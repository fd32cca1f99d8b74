"""MARO's errors with their numbers, and the exit codes of a process that dies of one.

MARO ends the process by `sys.exit(64)` or `sys.exit(65)` where something went wrong
that a restart will not mend. Here that is an error as any other: `except Exception`
catches it. Only if nobody does, the process ends with that code.
"""

import logging

SUCCESS_EXIT_CODE = 0
NON_RESTART_EXIT_CODE = 64  # Do not start me again.
KILL_ALL_EXIT_CODE = 65  # Nor anybody else of this job.


class MAROException(Exception):
    """The base of all; `error_code` tells them apart."""

    number = 1000

    def __init__(self, error_code: "int | str | None" = None, msg: "str | None" = None) -> None:
        if isinstance(error_code, str):
            error_code, msg = None, error_code
        self.error_code = self.number if error_code is None else error_code
        self.strerror = msg if msg is not None else type(self).__doc__
        super().__init__(self.strerror)

    def __str__(self) -> str:
        return f"[MARO {self.error_code}] {self.strerror}"


class RedisConnectionError(MAROException):
    """Redis does not answer."""

    number = 1001


class PeersMissError(MAROException):
    """There are no such peers."""

    number = 1002


class InformationUncompletedError(MAROException):
    """Not all peers that are expected were found in time."""

    number = 1003


class PeersConnectionError(MAROException):
    """A peer cannot be connected to."""

    number = 1004


class DriverSendError(MAROException):
    """A message cannot be sent."""

    number = 1005


class DriverReceiveError(MAROException):
    """A message cannot be received, or tells of a failure."""

    number = 1006


class MessageSessionTypeError(MAROException):
    """There is no such type of session."""

    number = 1007


class ConditionalEventSyntaxError(MAROException):
    """A conditional event is not written as one."""

    number = 1008


class DriverTypeError(MAROException):
    """There is no such driver."""

    number = 1009


class SocketTypeError(MAROException):
    """There is no such socket."""

    number = 1010


class PeersDisconnectionError(MAROException):
    """A peer cannot be disconnected from."""

    number = 1011


class PendingToSend(MAROException):
    """The peer is away; the message waits for it, or was dropped."""

    number = 1012


class PeersRejoinTimeout(MAROException):
    """Too few peers came back in time."""

    number = 1013


class _EndsTheProcess(MAROException, SystemExit):
    """If nobody catches it, the process ends with this code, as after sys.exit()."""

    exit_code = NON_RESTART_EXIT_CODE

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.code = self.exit_code
        # The interpreter says nothing of a SystemExit.
        logging.getLogger(__name__).error("%s", self)


class FatalRedisConnectionError(_EndsTheProcess, RedisConnectionError):
    """Redis does not answer."""


class FatalDriverTypeError(_EndsTheProcess, DriverTypeError):
    """There is no such driver."""


class FatalPeersMissError(_EndsTheProcess, PeersMissError):
    """There are no such peers."""


class FatalPeersRejoinTimeout(_EndsTheProcess, PeersRejoinTimeout):
    """Too few peers came back in time."""

    exit_code = KILL_ALL_EXIT_CODE


ERROR_CODE = {
    error.number: (error.__doc__ or "")
    for error in (
        MAROException,
        RedisConnectionError,
        PeersMissError,
        InformationUncompletedError,
        PeersConnectionError,
        DriverSendError,
        DriverReceiveError,
        MessageSessionTypeError,
        ConditionalEventSyntaxError,
        DriverTypeError,
        SocketTypeError,
        PeersDisconnectionError,
        PendingToSend,
        PeersRejoinTimeout,
    )
}
