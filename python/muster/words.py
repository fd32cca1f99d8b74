"""The words that messages and sessions are described with.

>>> from muster import SessionType
>>> SessionType.NOTIFICATION.name
'NOTIFICATION'
"""

from __future__ import annotations

import enum

from muster import _core

__all__ = ["Answers", "Compression", "OnLoss", "Priority", "SessionType", "Stage"]


class SessionType(enum.IntEnum):
    """What is expected of the receiver."""

    #: An answer.
    TASK = 1
    #: Nothing but, where it is asked for, a receipt.
    NOTIFICATION = 2


class Stage(enum.IntEnum):
    """What a message is to its session."""

    REQUEST = 1
    #: It was taken. Not an answer.
    RECEIVE = 2
    COMPLETE = 3


class Priority(enum.IntEnum):
    """More urgent messages overtake others; order holds within one priority."""

    URGENT = 0
    NORMAL = 1
    LOW = 2
    IDLE = 3


class OnLoss(enum.IntEnum):
    """What becomes of a session whose peer is lost before it has answered."""

    #: It ends with :class:`muster.UnavailableError`.
    FAIL = 0
    #: The request is sent again when the peer is back.
    WAIT = 1


class Answers(enum.IntEnum):
    """Where the answer goes."""

    BY_ID = 0
    #: To ``receive()``, as any other message.
    TO_RECEIVE = 1


class Compression(enum.IntEnum):
    """How a body is made smaller, where that helps."""

    NONE = 0
    ZSTD = 1
    LZ4 = 2


_WORDS: list[type[enum.IntEnum]] = [SessionType, Stage, Priority, OnLoss, Answers, Compression]
for _which, _enum in enumerate(_WORDS):
    for _member in _enum:
        _core.set_words(_which, int(_member), _member)
