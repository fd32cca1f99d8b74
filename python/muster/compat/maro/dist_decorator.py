"""MARO's one line that makes a local class a component."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import muster
from muster._wrapped import Wrapped, wrapped_class

from .message import Message
from .proxy import Proxy
from .register_table import RegisterTable

logger = logging.getLogger(__name__)

T = TypeVar("T")
Handlers = Mapping[Any, Callable[..., Any]]

# How often launch() looks who is there while no message comes: a percentage may be met
# because somebody has left.
SECONDS_BETWEEN_LOOKS = 0.2


class Component(Wrapped[T]):
    """What calling a decorated class gives; an own attribute of one of these names is found at
    `local_instance`."""

    _muster_proxy: Proxy
    _muster_handlers: Handlers
    _muster_is_stopped: bool

    @property
    def proxy(self) -> Proxy:
        return self._muster_proxy

    def launch(self) -> None:
        """Receives messages and calls handlers until stop(), or the end of the proxy."""
        proxy = self._muster_proxy
        proxy.join()
        table = RegisterTable(lambda: proxy.peers)
        for event, handler in self._muster_handlers.items():
            table.register_event_handler(event, handler)
        while not self._muster_is_stopped and not proxy.is_closed:
            message = proxy._next(SECONDS_BETWEEN_LOOKS)
            if message is not None:
                table.push(message, auto_trigger=False)
            self._muster_run_due(table)
        self._muster_is_stopped = False

    def stop(self) -> None:
        """Has launch(), or the next one, return after the handler that runs now."""
        self._muster_is_stopped = True

    def _muster_run_due(self, table: RegisterTable) -> None:
        """One that fails takes nobody along: it is logged, and who waits is told."""
        proxy = self._muster_proxy
        for handler, messages in table.get():
            try:
                handler(self._muster_local, proxy, messages)
            except muster.Stop:
                self.stop()
            except Exception as error:
                if isinstance(error, SystemExit):
                    raise
                logger.exception("a handler of %s failed", proxy.name)
                for message in [messages] if isinstance(messages, Message) else messages:
                    proxy._tell_failure(message, error)


def dist(proxy: Proxy, handler_dict: Handlers) -> Callable[[type[T]], type[T]]:
    """Makes instances of a class components that answer messages.

    A handler is called with `(local_instance, proxy, messages)`; if its event is a bare
    tag, with one message. It may raise muster.Stop to end launch(). The class keeps its name,
    docstring and attributes; its instances count as instances of it, with `launch()`, `stop()`,
    `proxy` and `local_instance` besides.
    """

    def decorate(cls: type[T]) -> type[T]:
        def __init__(self: Component[T], *args: Any, **kwargs: Any) -> None:
            self._muster_local = cls(*args, **kwargs)
            self._muster_proxy, self._muster_handlers = proxy, handler_dict
            self._muster_is_stopped = False

        return cast("type[T]", wrapped_class(cls, Component, __init__))

    return decorate
