"""Messages and answers inside an event loop."""

from __future__ import annotations

import asyncio
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import PATIENCE, Join

import muster
from muster import Message, Proxy, SessionType, _core

Pair = tuple[Proxy, Proxy]


def test_a_future_can_be_awaited(pair: Pair) -> None:
    a, b = pair

    async def serve() -> None:
        message = await b.receive(PATIENCE)
        assert message is not None
        b.reply(message, message.body + 1)

    async def main() -> Message:
        server = asyncio.create_task(serve())
        answer = await a.request("add", "b", 1)
        await server
        return answer

    assert asyncio.run(main()).body == 2


def test_messages_can_be_iterated_over_while_others_run(pair: Pair) -> None:
    a, b = pair

    async def listen() -> list[int]:
        got = []
        async for message in b.receive(PATIENCE):
            got.append(message.body)
            if len(got) == 5:
                break
        return got

    async def main() -> list[int]:
        listener = asyncio.create_task(listen())
        for i in range(5):
            a.isend("n", "b", i, SessionType.NOTIFICATION)
            await asyncio.sleep(0)
        return await listener

    assert asyncio.run(main()) == list(range(5))


def test_many_requests_at_once(pair: Pair) -> None:
    a, b = pair

    async def serve() -> None:
        served = 0
        async for message in b.receive(PATIENCE):
            b.reply(message, message.body * 2)
            served += 1
            if served == 50:
                return

    async def main() -> list[Message]:
        server = asyncio.create_task(serve())
        answers = await asyncio.gather(*(a.request("x", "b", i) for i in range(50)))
        await server
        return list(answers)

    assert [answer.body for answer in asyncio.run(main())] == [2 * i for i in range(50)]


def test_what_fails_is_raised_by_await(pair: Pair) -> None:
    a, _ = pair

    async def main() -> None:
        await a.request("x", "b", timeout=0.02)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_no_message_in_time_is_none_and_ends_the_iteration(pair: Pair) -> None:
    a, _ = pair

    async def main() -> tuple[Message | None, list[Message]]:
        return await a.receive(0.01), [message async for message in a.receive(0.01)]

    assert asyncio.run(main()) == (None, [])


def test_a_wait_that_is_cancelled_takes_no_message(pair: Pair) -> None:
    a, b = pair

    async def main() -> Message | None:
        waiting = asyncio.ensure_future(_next(b))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        a.isend("n", "b", "still there", SessionType.NOTIFICATION)
        return await b.receive(PATIENCE)

    message = asyncio.run(main())
    assert message is not None and message.body == "still there"


async def _next(proxy: Proxy) -> Message | None:
    return await proxy.receive()


def test_a_proxy_that_ends_ends_who_awaits(group: str) -> None:
    proxy = Proxy(group, "one")

    async def main() -> None:
        waiting = asyncio.ensure_future(_next(proxy))
        await asyncio.sleep(0)
        proxy.leave(PATIENCE)
        with pytest.raises(muster.CancelledError):
            await waiting

    asyncio.run(main())


def test_a_loan_can_be_awaited(pair: Pair) -> None:
    import numpy as np

    a, b = pair
    mine = np.zeros(1 << 18)

    async def main() -> None:
        loan = a.isend("x", "b", mine, SessionType.NOTIFICATION, borrow=True)
        assert await b.receive(PATIENCE) is not None
        await loan

    asyncio.run(main())


def test_a_wait_that_was_in_vain_leaves_nothing(pair: Pair) -> None:
    a, b = pair

    async def main() -> list[int]:
        notifier = _core.Notifier()
        a._notify_receivable(notifier, 0)
        for _ in range(3):
            assert await a.receive(0.001) is None
        waiting = asyncio.ensure_future(_next(a))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        return a._listening()

    assert asyncio.run(main()) == [0]
    b.isend("x", "a", 1, SessionType.NOTIFICATION)
    assert a.receive_once(PATIENCE) is not None
    assert a._listening() == []


def test_event_loops_side_by_side_all_hear_of_messages(pair: Pair) -> None:
    a, b = pair
    count = 40

    async def listen() -> int:
        got = 0
        async for message in b.receive(PATIENCE):
            if message.body is None:
                return got
            got += 1
        return -1

    with ThreadPoolExecutor() as pool:
        listeners = [pool.submit(lambda: asyncio.run(listen())) for _ in range(3)]
        for body in [*range(count), None, None, None]:
            a.isend("n", "b", body, SessionType.NOTIFICATION)
        assert sum(listener.result(PATIENCE) for listener in listeners) == count


def test_async_for_ends_with_the_proxy_as_for_does(group: str) -> None:
    proxy = Proxy(group, "one")

    async def listen() -> list[object]:
        return [message.body async for message in proxy.receive()]

    async def main() -> list[object]:
        waiting = asyncio.ensure_future(listen())
        await asyncio.sleep(0)
        proxy.leave(PATIENCE)
        return await waiting

    assert asyncio.run(main()) == []
    assert list(proxy.receive()) == []


def test_a_loop_that_is_closed_while_somebody_waits_is_freed(join: Join) -> None:
    a = join("one", "a")

    async def wait() -> None:
        await a.receive()

    def close_one() -> weakref.ref[asyncio.AbstractEventLoop]:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # It is told of who waited.
        waiting = loop.create_task(wait())
        for _ in range(3):
            loop.run_until_complete(asyncio.sleep(0))
        assert not waiting.done()
        loop.close()
        return weakref.ref(loop)

    gone = close_one()
    gc.collect()
    assert gone() is None


def test_no_number_is_no_timeout(join: Join) -> None:
    a = join("one", "a")

    async def wait() -> None:
        await a.receive(float("nan"))

    with pytest.raises(ValueError, match="timeout"):
        asyncio.run(wait())
