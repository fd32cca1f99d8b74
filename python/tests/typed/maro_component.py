"""The same in MARO's words."""

from __future__ import annotations

from typing import assert_type

import muster
from muster.compat.maro import Message, Proxy, dist


def on_note(local_instance: Worker, proxy: Proxy, messages: list[Message]) -> None:
    local_instance.noted += 1
    raise muster.Stop


def make(proxy: Proxy) -> int:
    @dist(proxy, {"master:note:1": on_note})
    class Local:
        def __init__(self) -> None:
            self.noted = 0

    local = Local()
    local.launch()
    local.stop()
    local.launch(1)  # type: ignore[call-arg]
    assert_type(local.proxy, Proxy)
    return local.noted


@dist(Proxy("group", "worker", {"master": 1}), {"master:note:1": on_note})
class Worker:
    noted = 0
