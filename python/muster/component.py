"""dist: a class of yours as a component, with no change to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from muster import _core
from muster._wrapped import Wrapped, wrapped_class
from muster.errors import InvalidError
from muster.proxy import Proxy

__all__ = ["Distributed", "Event", "Handler", "Stop", "dist"]

T = TypeVar("T")

#: A text such as ``worker:update:60%``, a condition, or a tuple with ``AND`` or ``OR`` last.
Event = str | _core.EventCondition | tuple[Any, ...]
#: Called with the local instance, the proxy and the messages that met the condition. What it
#: returns, unless that is None, answers each task among them that it has not answered itself.
Handler = Callable[[Any, Proxy, list[_core.Message]], Any]

_MOST_THREADS = 1024


class Stop(Exception):
    """Raise it in a handler to end the component's ``launch()``, once the handler is over."""


class Distributed(Wrapped[T]):
    """What calling a class that was decorated with :func:`dist` gives.

    Its attributes are those of the local instance, to read and to write; those of the decorated
    class are those of the class that it was made of. What is described here is the component's
    own, and cannot be written: where the local instance has an attribute of such a name, it is
    found at ``local_instance``.
    """

    _muster_proxy: Proxy
    _muster_dispatcher: _core.Dispatcher

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("decorate a class with muster.dist() to make one")

    def launch(self, timeout: float | None = None) -> None:
        """Receives messages and calls handlers until :meth:`stop`, or ``timeout`` seconds are over.

        Raises :class:`muster.TimedOutError` then, after which it may be called again, and whatever
        ends the proxy; :class:`muster.InvalidError` if an earlier one was stopped, or still runs.
        """
        self._muster_dispatcher.launch(timeout)

    def stop(self) -> None:
        """Ends :meth:`launch`: no handler is begun any more, now and for good.

        Any thread, handlers too. Called before ``launch()``, it has that return at once.
        """
        self._muster_dispatcher.stop()

    @property
    def proxy(self) -> Proxy:
        """What it talks to the others with."""
        return self._muster_proxy

    @property
    def is_partial(self) -> bool:
        """Inside a handler: whether it was called because its event's time was over."""
        return self._muster_dispatcher.is_partial


def dist(
    proxy: Proxy,
    handlers: Mapping[Any, Handler],
    *,
    pool: int = 0,
    stops_on_error: bool = False,
    report: Callable[[int, str, list[_core.Message]], object] | None = None,
) -> Callable[[type[T]], type[Distributed[T]]]:
    """Make a class distributed: its objects do what ``handlers`` say when messages come.

    A handler gets the local instance, the proxy and the messages that met its condition. A bare
    tag as the condition means one message of that tag, from anybody. Where the class has a
    ``launch``, ``stop``, ``proxy``, ``local_instance`` or ``is_partial`` of its own, the
    component's goes first, and its own is reached by ``local_instance``.

    >>> import muster
    >>> def on_sum(local_instance, proxy, messages):
    ...     local_instance.done += 1
    ...     return sum(messages[0].body)
    >>> def on_stop(local_instance, proxy, messages):
    ...     raise muster.Stop
    >>> proxy = muster.Proxy("sums", "worker", name="worker")
    >>> @muster.dist(proxy, {"master:sum:1": on_sum, "stop": on_stop})
    ... class Worker:
    ...     def __init__(self):
    ...         self.done = 0
    >>> worker = Worker()
    >>> with muster.Proxy("sums", "master", expected=["worker"]) as master:
    ...     session = master.isend("sum", "worker", [1, 2, 3])
    ...     _ = master.isend("stop", "worker", None, muster.SessionType.NOTIFICATION)
    ...     worker.launch(timeout=20)
    ...     print(master.receive_by_id(session, timeout=20).messages[0].body, worker.done)
    6 1
    >>> proxy.leave()

    Args:
        proxy: Whose messages they are.
        handlers: What to wait for, and what to call then, one at a time, by ``launch()``.
        pool: So many threads of its own call handlers, side by side; 1024 at most.
        stops_on_error: ``launch()`` raises :class:`muster.FailedError` with what a handler raised.
            Else that is logged, and it goes on.
        report: Called with the event's number, what went wrong and the messages, instead.

    Raises:
        muster.InvalidError: A condition cannot be, and it says where and why; or a handler.
    """
    if not 0 <= pool <= _MOST_THREADS:
        raise InvalidError(f"pool is a number of threads, from 0 to {_MOST_THREADS}: {pool}")
    conditions = [(_core.EventCondition(event), handler) for event, handler in handlers.items()]
    for condition, handler in conditions:
        if not callable(handler):
            raise InvalidError(f"the handler of {condition} cannot be called: {handler!r}")

    def decorate(cls: type[T]) -> type[Distributed[T]]:
        def __init__(self: Distributed[T], *args: Any, **kwargs: Any) -> None:
            local = cls(*args, **kwargs)
            self._muster_local, self._muster_proxy = local, proxy
            self._muster_dispatcher = _core.Dispatcher(proxy, pool, stops_on_error, report)
            for condition, handler in conditions:
                self._muster_dispatcher.add(condition, _bind(handler, local, proxy))

        return cast("type[Distributed[T]]", wrapped_class(cls, Distributed, __init__))

    return decorate


def _bind(handler: Handler, local: Any, proxy: Proxy) -> Callable[[list[_core.Message]], Any]:
    return lambda messages: handler(local, proxy, messages)
