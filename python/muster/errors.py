"""What can go wrong, each an exception that is also the builtin one would catch.

>>> import muster
>>> issubclass(muster.UnavailableError, ConnectionError)
True
>>> try:
...     muster.EventCondition("worker:update:0")
... except ValueError as wrong:
...     print(type(wrong).__name__)
InvalidError
"""

from __future__ import annotations

import traceback

from muster import _core

__all__ = [
    "CancelledError",
    "Error",
    "FailedError",
    "InternalError",
    "InvalidError",
    "NotFoundError",
    "OverloadedError",
    "TimedOutError",
    "UnavailableError",
    "UnsupportedError",
]

# Stands between what was wrong and where, in the text that travels.
_REMOTE = "\nTraceback (most recent call last):"


class Error(Exception):
    """The base of all that Muster raises. Its text says what was attempted, and why not."""

    #: The library's own name of the kind.
    code = "unknown"

    #: Where it happened, if that was in another process and in Python; else empty.
    remote_traceback = ""

    def __init__(self, message: str = "") -> None:
        text, mark, rest = str(message).partition(_REMOTE)
        super().__init__(text)
        if mark:
            self.remote_traceback = (mark + rest).lstrip("\n")
            if hasattr(self, "add_note"):
                self.add_note("In the other process:\n" + self.remote_traceback)


class InvalidError(Error, ValueError):
    """The request is wrong. Fix it; retrying cannot help."""

    code = "invalid"


class NotFoundError(Error, LookupError):
    """There is no such peer, event or session."""

    code = "not_found"


class UnsupportedError(Error, NotImplementedError):
    """This peer or driver cannot do that. Take another way."""

    code = "unsupported"


class UnavailableError(Error, ConnectionError):
    """The peer is gone. Wait for its return, then retry."""

    code = "unavailable"


class OverloadedError(Error, BlockingIOError):
    """A bounded queue is full. Nothing was sent; back off, then retry."""

    code = "overloaded"


class TimedOutError(Error, TimeoutError):
    """The deadline passed. The outcome is unknown."""

    code = "timeout"


class CancelledError(Error, RuntimeError):
    """Somebody asked for this: the proxy left, the session was cancelled, the program ends."""

    code = "cancelled"


class FailedError(Error, RuntimeError):
    """Code of the user's ran in the other process, and raised."""

    code = "failed"


class InternalError(Error, RuntimeError):
    """A bug in Muster."""

    code = "internal"


# In the order of the library's numbers, which begin with 1.
_CLASSES: list[type[Error]] = [
    InvalidError,
    NotFoundError,
    UnsupportedError,
    UnavailableError,
    OverloadedError,
    TimedOutError,
    CancelledError,
    FailedError,
    InternalError,
]
for _number, _class in enumerate(_CLASSES, start=1):
    _core.set_error_class(_number, _class)


def from_code(code: int, message: str) -> Error:
    """The exception for an error that came as a number and a text."""
    return _CLASSES[code - 1](message)


def _describe(raised: BaseException, with_traceback: bool) -> str:
    """What another process is told of an exception, whatever is in it."""
    told = _tell(raised, with_traceback)
    return told.encode("utf-8", "backslashreplace").decode()


def _tell(raised: BaseException, with_traceback: bool) -> str:
    lines = traceback.format_exception_only(type(raised), raised)
    text = str(raised) if isinstance(raised, Error) else "".join(lines).strip()
    if not with_traceback:
        return text
    trace = "".join(traceback.format_exception(type(raised), raised, raised.__traceback__))
    mark = trace.find(_REMOTE.lstrip("\n"))
    return text if mark < 0 else text + "\n" + trace[mark:].rstrip()
