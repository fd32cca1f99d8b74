"""What some calls can be told besides, by keyword. For the types alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from muster._core import Id
    from muster.words import Answers, Compression, OnLoss, Priority, SessionType


class Delivery(TypedDict, total=False):
    """How a message travels."""

    priority: Priority | None
    compression: Compression | None
    on_loss: OnLoss | None


class HowToMany(Delivery, total=False):
    """Of scatter and broadcast."""

    session_type: SessionType | None


class HowToOne(HowToMany, total=False):
    """Of send."""

    session_id: Id | str | None


class HowToRequest(Delivery, total=False):
    """Of request."""

    timeout: float | None
    session_id: Id | str | None


class HowToIsend(HowToRequest, total=False):
    """Of isend."""

    answers: Answers | None
    wants_receipt: bool | None


class Manners(TypedDict, total=False):
    """How a communicator behaves, and those made from it."""

    elastic: bool
    reproducible: bool
    keep_input: bool
    patience: float | None
    deadline: float | None
