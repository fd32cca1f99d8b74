"""MARO's one line that makes a local class a component."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .message import Message
from .proxy import Proxy
from .register_table import RegisterTable

logger = logging.getLogger(__name__)

T = TypeVar("T")

# How often launch() looks who is there while no message comes: a percentage may be met
# because somebody has left.
SECONDS_BETWEEN_LOOKS = 0.2


def dist(
    proxy: Proxy, handler_dict: Mapping[Any, Callable[..., Any]]
) -> Callable[[type[T]], type[T]]:
    """Makes instances of a class components that answer messages.

    A handler is called with `(local_instance, proxy, messages)`; if its event is a bare
    tag, with one message. The class keeps its name, docstring and attributes; its
    instances are instances of it, with `launch()` and `stop()` besides.
    """

    def decorate(cls: type[T]) -> type[T]:
        class Component(cls):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self.proxy = proxy
                super().__init__(*args, **kwargs)
                self._is_stopped = False

            @property
            def local_instance(self) -> Any:
                return self

            def launch(self) -> None:
                """Receives messages and calls handlers until stop(), or the end of the proxy."""
                proxy.join()
                table = RegisterTable(lambda: proxy.peers)
                for event, handler in handler_dict.items():
                    table.register_event_handler(event, handler)
                while not self._is_stopped and not proxy.is_closed:
                    message = proxy._next(SECONDS_BETWEEN_LOOKS)
                    if message is not None:
                        table.push(message, auto_trigger=False)
                    run_due(table, self, proxy)
                self._is_stopped = False

            def stop(self) -> None:
                """Has launch(), or the next one, return after the handler that runs now."""
                self._is_stopped = True

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(Component, name, getattr(cls, name))
        return Component

    return decorate


def run_due(table: RegisterTable, instance: Any, proxy: Proxy) -> None:
    """One that fails takes nobody along: it is logged, and who waits is told."""
    for handler, messages in table.get():
        try:
            handler(instance, proxy, messages)
        except Exception as error:
            if isinstance(error, SystemExit):
                raise
            logger.exception("a handler of %s failed", proxy.name)
            for message in [messages] if isinstance(messages, Message) else messages:
                proxy._tell_failure(message, error)
