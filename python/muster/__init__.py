"""A distributed toolkit for reinforcement-learning training.

A component joins a group by its :class:`Proxy`, and talks to the others by name:

>>> import muster
>>> with muster.Proxy("greetings", "learner", name="learner") as learner:
...     with muster.Proxy("greetings", "worker", expected=["learner"]) as worker:
...         learner.wait_for_peers({"worker": 1}, timeout=20)
...         session = worker.isend("hello", "learner", {"from": "a worker"})
...         for message in learner.receive(timeout=20):
...             print(message.tag, message.body)
...             learner.reply(message, [1, 2.5, None])
...             break
...         print(worker.receive_by_id(session, timeout=20).messages[0].body)
hello {'from': 'a worker'}
[1, 2.5, None]
"""

from __future__ import annotations

from muster._core import (
    EventCondition,
    EventTable,
    Future,
    Id,
    Message,
    all_of,
    any_of,
)
from muster._replies import Failure, PeerInfo, ProxyEvent, Replies
from muster.arrays import empty
from muster.collectives import Communicator, Operation, UserReduction
from muster.component import Distributed, Stop, dist
from muster.errors import (
    CancelledError,
    Error,
    FailedError,
    InternalError,
    InvalidError,
    NotFoundError,
    OverloadedError,
    TimedOutError,
    UnavailableError,
    UnsupportedError,
)
from muster.proxy import Proxy, Reception
from muster.words import Answers, Compression, OnLoss, Priority, SessionType, Stage

__version__ = "0.1.0"

__all__ = [
    "Answers",
    "CancelledError",
    "Communicator",
    "Compression",
    "Distributed",
    "Error",
    "EventCondition",
    "EventTable",
    "FailedError",
    "Failure",
    "Future",
    "Id",
    "InternalError",
    "InvalidError",
    "Message",
    "NotFoundError",
    "OnLoss",
    "Operation",
    "OverloadedError",
    "PeerInfo",
    "Priority",
    "Proxy",
    "ProxyEvent",
    "Reception",
    "Replies",
    "SessionType",
    "Stage",
    "Stop",
    "TimedOutError",
    "UnavailableError",
    "UnsupportedError",
    "UserReduction",
    "all_of",
    "any_of",
    "dist",
    "empty",
]
