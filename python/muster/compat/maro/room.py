"""Sending where there is no room yet: the other end does not keep up."""

import time
from collections.abc import Callable
from typing import TypeVar

import muster

T = TypeVar("T")

# Where `send_timeout` is left out or below 0. MARO waits for ever; this is as long as it waits for
# too few peers.
LONGEST_SECONDS = 300.0
SECONDS_BETWEEN_ATTEMPTS = 0.002


def seconds_to_send(milliseconds: float) -> float:
    """What a `send_timeout` of MARO's means here."""
    return LONGEST_SECONDS if milliseconds < 0 else milliseconds / 1000


def wait_for_room(send: Callable[[], T], seconds: float) -> T:
    """Sends as soon as there is room. OverloadedError: there was none for so long."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return send()
        except muster.OverloadedError as error:
            if time.monotonic() >= deadline:
                raise muster.OverloadedError(
                    f"there was no room for {seconds:g} s: {error}; have the other end receive, "
                    "send less, or give driver_parameters a longer send_timeout"
                ) from error
        time.sleep(SECONDS_BETWEEN_ATTEMPTS)
