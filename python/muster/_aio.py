"""How asyncio learns of what happens in the library: by a descriptor, without a thread."""

from __future__ import annotations

import asyncio
import itertools
import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muster import _core

if TYPE_CHECKING:
    from muster.proxy import Proxy


# No two event loops have the same.
_tokens = itertools.count(1)


class _Bridge:
    """One event loop's ear."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._notifier = _core.Notifier()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        loop.add_reader(self._notifier.fileno(), self._heard)

    def wait(
        self,
        loop: asyncio.AbstractEventLoop,
        subscribe: Callable[[_core.Notifier, int], None],
        forget: Callable[[int], None] | None = None,
    ) -> asyncio.Future[None]:
        """Done once what was subscribed to has happened; who does not wait for it is forgotten."""
        token = next(_tokens)
        future: asyncio.Future[None] = loop.create_future()

        def end(done: asyncio.Future[None]) -> None:
            self._waiting.pop(token, None)
            if forget is not None and done.cancelled():
                forget(token)

        self._waiting[token] = future
        future.add_done_callback(end)
        subscribe(self._notifier, token)
        return future

    def _heard(self) -> None:
        for token in self._notifier.take():
            future = self._waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


# Held by their event loops, which those who wait lead back to.
_bridges: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Bridge]] = (
    weakref.WeakKeyDictionary()
)


def _wait(
    subscribe: Callable[[_core.Notifier, int], None],
    forget: Callable[[int], None] | None = None,
) -> asyncio.Future[None]:
    loop = asyncio.get_running_loop()
    known = _bridges.get(loop)
    bridge = known() if known is not None else None
    if bridge is None:
        bridge = _Bridge(loop)
        _bridges[loop] = weakref.ref(bridge)
    return bridge.wait(loop, subscribe, forget)


async def future(waited: _core.Future[Any]) -> Any:
    """What the future gives, once it is there."""
    await _wait(waited._notify)
    return waited.result(0)


async def receive_once(proxy: Proxy, timeout: float | None) -> _core.Message | None:
    """The next message; None if there is none in time."""
    if timeout is not None and math.isnan(timeout):
        raise ValueError("a timeout is a number of seconds, or None")
    loop = asyncio.get_running_loop()
    deadline = None if timeout is None else loop.time() + timeout
    while True:
        message = proxy.receive_once(0)
        if message is not None:
            return message
        left = None if deadline is None else deadline - loop.time()
        if left is not None and left <= 0:
            return None
        try:
            await asyncio.wait_for(_wait(proxy._notify_receivable, proxy._forget_receivable), left)
        except asyncio.TimeoutError:  # noqa: UP041 (another one before Python 3.11)
            return None
