"""MARO's messages. They are the user's to change until they are sent; a reply or a
forward is a message of its own and changes nothing."""

import uuid
from enum import Enum
from typing import Any

from .exception import MessageSessionTypeError

Tag = str | Enum


class SessionType(Enum):
    """What a session is for: work to be done, or news."""

    TASK = "task"
    NOTIFICATION = "notification"


class TaskSessionStage(Enum):
    """How far a task is."""

    REQUEST = "task_request"
    RECEIVE = "task_receive"
    COMPLETE = "task_complete"


class NotificationSessionStage(Enum):
    """How far a notification is."""

    REQUEST = "notification_request"
    RECEIVE = "notification_receive"


Stage = TaskSessionStage | NotificationSessionStage


def session_id_generator(source: str, destination: str) -> str:
    """A new session's id, which shows who opened it, and to whom."""
    return f"{uuid.uuid4()}.{source}.{destination}"


class Message:
    """What one component tells another.

    `payload` is the body's name until MARO 0.3; `type_`, `.type` and `.src` are what
    the tag and the source were called before there were sessions.

    >>> Message(tag="check_in", source="worker_001", destination="master", body="").tag
    'check_in'
    >>> Message(type_="hello_back", body=None).type
    'hello_back'
    """

    def __init__(
        self,
        tag: Tag | None = None,
        source: str = "",
        destination: str = "",
        body: Any = None,
        session_id: str | None = None,
        *,
        payload: Any = None,
        type_: Tag | None = None,
    ) -> None:
        if tag is None and type_ is None:
            raise TypeError("make a message: it needs a tag")
        self.tag: Tag = tag if tag is not None else type_  # type: ignore[assignment]
        self.source = source
        self.destination = destination
        content = body if body is not None else payload
        self.body: Any = {} if content is None else content
        self.session_id = session_id or session_id_generator(source, destination)
        self.message_id = str(uuid.uuid1())
        self._received: Any = None  # What it came as, for who replies.

    @property
    def payload(self) -> Any:
        return self.body

    @payload.setter
    def payload(self, body: Any) -> None:
        self.body = body

    @property
    def type(self) -> Tag:
        return self.tag

    @property
    def src(self) -> str:
        return self.source

    def reply(self, tag: Tag | None = None, body: Any = None, payload: Any = None) -> "Message":
        """The answer to this message, in the same session. Proxy.reply() also sends it."""
        return self._next(self.destination, self.source, tag, body if body is not None else payload)

    def forward(
        self, destination: str, tag: Tag | None = None, body: Any = None, payload: Any = None
    ) -> "Message":
        """This message for somebody else. Without a new body it keeps its own."""
        content = body if body is not None else payload
        content = self.body if content is None else content
        return self._next(self.destination, destination, tag, content)

    def _next(self, source: str, destination: str, tag: Tag | None, body: Any) -> "Message":
        following = self._copy(tag if tag is not None else self.tag, source, destination)
        following.body = body
        return following

    def _copy(self, tag: Tag, source: str, destination: str) -> "Message":
        return Message(tag, source, destination, session_id=self.session_id)

    def __repr__(self) -> str:
        shown = {key: value for key, value in vars(self).items() if not key.startswith("_")}
        return "; \n".join(f"{key} = {value}" for key, value in shown.items())


class SessionMessage(Message):
    """A message that says what its session is for, and how far it is.

    >>> SessionMessage("sum", "master", "worker_001", [0, 1, 2]).session_stage
    <TaskSessionStage.REQUEST: 'task_request'>
    """

    def __init__(
        self,
        tag: Tag | None = None,
        source: str = "",
        destination: str = "",
        body: Any = None,
        session_type: "SessionType | str | None" = SessionType.TASK,
        session_stage: "Stage | SessionType | None" = None,
        last: Stage | None = None,
        *,
        payload: Any = None,
        session_id: str | None = None,
        type_: Tag | None = None,
    ) -> None:
        # By position, MARO 0.1 has the session's id before its type.
        if not isinstance(session_type, SessionType) and isinstance(session_stage, SessionType):
            session_id, session_type, session_stage = session_type, session_stage, last
        if not isinstance(session_type, SessionType):
            raise MessageSessionTypeError(
                f"make a message: its session type is {session_type!r}; use SessionType"
            )
        super().__init__(tag, source, destination, body, session_id, payload=payload, type_=type_)
        self.session_type = session_type
        is_task = session_type is SessionType.TASK
        first = TaskSessionStage.REQUEST if is_task else NotificationSessionStage.REQUEST
        self.session_stage: Stage = session_stage or first  # type: ignore[assignment]

    def _copy(self, tag: Tag, source: str, destination: str) -> Message:
        return SessionMessage(
            tag,
            source,
            destination,
            session_type=self.session_type,
            session_stage=self.session_stage,
            session_id=self.session_id,
        )


class Messages(list[Message]):
    """What a handler gets. MARO 0.1 gave a single message as it is, later versions
    always a list: a list of one here has all that its message has."""

    def __getattr__(self, name: str) -> Any:
        if len(self) == 1 and not name.startswith("__"):
            return getattr(self[0], name)
        raise AttributeError(f"a list of {len(self)} messages has no {name!r}")


def the_one(message: "Message | list[Message]") -> Message:
    """The message itself, where a handler passes on its list of one."""
    if isinstance(message, list):
        if len(message) != 1:
            raise TypeError(f"answer a message: there are {len(message)}, answer each by itself")
        return message[0]
    return message


def tag_text(tag: Tag) -> str:
    return str(tag.value) if isinstance(tag, Enum) else str(tag)


def short_tag(tag: Tag) -> str:
    """For Muster, whose tags have at most 48 bytes; the whole travels in the envelope."""
    return tag_text(tag).encode()[:48].decode(errors="ignore") or "maro"
