"""For mypy, which does not look at what a class decorator gives.

With ``plugins = ["muster.mypy_plugin"]`` in its configuration it knows what a class has from
:func:`muster.dist`: ``launch()``, ``stop()``, ``proxy``, ``local_instance`` and ``is_partial``.
Where a class has one of these itself, mypy goes on to see that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy.nodes import ARG_OPT, Argument, Var
from mypy.plugin import ClassDefContext, Plugin
from mypy.plugins.common import add_attribute_to_class, add_method_to_class
from mypy.types import AnyType, NoneType, Type, TypeOfAny, UnionType
from mypy.typevars import fill_typevars

_PROXIES: Final = {
    "muster.component.dist": "muster.proxy.Proxy",
    "muster.compat.maro.dist_decorator.dist": "muster.compat.maro.proxy.Proxy",
}


class MusterPlugin(Plugin):
    """Adds to a class what its decorator gives."""

    def get_class_decorator_hook_2(self, fullname: str) -> Callable[[ClassDefContext], bool] | None:
        if fullname not in _PROXIES:
            return None
        return lambda context: _add(context, _PROXIES[fullname])


def _add(context: ClassDefContext, proxy_name: str) -> bool:
    info, api = context.cls.info, context.api

    def is_missing(name: str) -> bool:
        found = info.get(name)
        return found is None or found.plugin_generated

    def give(name: str, kind: Type) -> None:
        if is_missing(name):
            add_attribute_to_class(api, context.cls, name, kind).is_property = True

    is_own = proxy_name == "muster.proxy.Proxy"
    seconds = UnionType([api.named_type("builtins.float"), NoneType()])
    timeout = Argument(Var("timeout", seconds), seconds, None, ARG_OPT)
    if is_missing("launch"):
        add_method_to_class(api, context.cls, "launch", [timeout] if is_own else [], NoneType())
    if is_missing("stop"):
        add_method_to_class(api, context.cls, "stop", [], NoneType())
    give("proxy", api.named_type_or_none(proxy_name) or AnyType(TypeOfAny.special_form))
    give("local_instance", fill_typevars(info))
    if is_own:
        give("is_partial", api.named_type("builtins.bool"))
    return True


def plugin(version: str) -> type[Plugin]:
    """What mypy calls."""
    return MusterPlugin
