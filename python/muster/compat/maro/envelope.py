"""How a message of MARO's travels as the body of one of Muster's.

MARO pickles whole messages and reads them from whoever reaches its port. Here they
arrive over links whose other end has proved to know the group's token, and nothing
else is ever unpickled.
"""

import pickle
from typing import Any

import muster

from .exception import DriverReceiveError
from .message import Message, SessionMessage, SessionType, TaskSessionStage

MARK = "maro"


def wrap(message: Message) -> dict[str, Any]:
    """A pickle, and beside it the memory of arrays, which is not copied into it."""
    stage = getattr(message, "session_stage", None)
    kind = getattr(message, "session_type", None)
    content = (message.tag, kind, stage, message.session_id, message.message_id, message.body)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
    return {MARK: data, "buffers": [buffer.raw() for buffer in buffers]}


def is_wrapped(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get(MARK), bytes)


def unwrap(received: muster.Message) -> Message:
    """Arrays are copied, so that they can be written to, as in MARO."""
    body = received.body
    if not is_wrapped(body):
        return from_elsewhere(received)
    try:
        buffers = [bytearray(buffer) for buffer in body.get("buffers", [])]
        content = pickle.loads(body[MARK], buffers=buffers)
        tag, kind, stage, session_id, message_id, inner = content
    except Exception as error:
        raise DriverReceiveError(
            f"read the message {received.tag!r} of {received.source}: {error!r}"
        ) from error
    made = Message(tag, received.source, received.destination, session_id=session_id)
    if kind is not None:
        made = SessionMessage(
            tag,
            received.source,
            received.destination,
            session_type=kind,
            session_stage=stage,
            session_id=session_id,
        )
    made.body = inner
    made.message_id = message_id
    made._received = received
    return made


def from_elsewhere(received: muster.Message) -> Message:
    """One that a component sent which speaks Muster itself."""
    is_task = received.session_type == muster.SessionType.TASK
    stage = None if received.is_request or not is_task else TaskSessionStage.COMPLETE
    made = SessionMessage(
        received.tag,
        received.source,
        received.destination,
        session_type=SessionType.TASK if is_task else SessionType.NOTIFICATION,
        session_stage=stage,
        session_id=str(received.session_id),
    )
    made.body = received.body
    made.message_id = str(received.message_id)
    made._received = received
    return made
