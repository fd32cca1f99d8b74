"""Classes around others: their objects have all that those of the others have, and more."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, cast

T = TypeVar("T")


class Wrapped(Generic[T]):
    """An object around another, the local instance.

    Its attributes are those of the local instance, to read and to write; but not what its class
    has been given besides.
    """

    _muster_local: T
    _muster_given: ClassVar[frozenset[str]]

    @property
    def local_instance(self) -> T:
        """The object of the class that was decorated."""
        return self._muster_local

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_muster_local"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_muster_"):
            object.__setattr__(self, name, value)
        elif name in self._muster_given:
            raise AttributeError(
                f"{name} is what dist() has given the component; local_instance.{name} is your own"
            )
        else:
            setattr(self._muster_local, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._muster_local, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._muster_local), *self._muster_given})

    def __repr__(self) -> str:
        return repr(self._muster_local)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _WrappedClass(type):
    """A decorated class still answers for the one that it was made of."""

    _muster_class: type

    def __getattr__(cls, name: str) -> Any:
        return getattr(type.__getattribute__(cls, "_muster_class"), name)

    # A class attribute that was set here would hide those of the local instances.
    def __setattr__(cls, name: str, value: Any) -> None:
        if _is_special(name) or "_muster_class" not in cls.__dict__:
            type.__setattr__(cls, name, value)
        else:
            setattr(cls._muster_class, name, value)

    def __delattr__(cls, name: str) -> None:
        if _is_special(name) or "_muster_class" not in cls.__dict__:
            type.__delattr__(cls, name)
        else:
            delattr(cls._muster_class, name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, cls._muster_class)

    def __subclasscheck__(cls, other: type) -> bool:
        return type.__subclasscheck__(cls, other) or issubclass(other, cls._muster_class)


# Looked up by Python on the type, past __getattr__.
_NOT_FORWARDED = {
    *dir(object),
    *Wrapped.__dict__,
    "__abstractmethods__",
    "__class_getitem__",
    "__dict__",
    "__init_subclass__",
    "__slots__",
    "__weakref__",
}
_ALWAYS_FORWARDED = {"__eq__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__"}
_ALWAYS_FORWARDED |= {"__str__", "__format__"}


def _forward(name: str) -> Callable[..., Any]:
    def special(self: Wrapped[Any], *args: Any, **kwargs: Any) -> Any:
        others = [arg._muster_local if isinstance(arg, Wrapped) else arg for arg in args]
        return getattr(type(self._muster_local), name)(self._muster_local, *others, **kwargs)

    special.__name__ = name
    return special


def _special_methods(cls: type) -> dict[str, Any]:
    names = set(filter(_is_special, dir(cls)))
    found: dict[str, Any] = {}
    for name in (names - _NOT_FORWARDED) | (names & _ALWAYS_FORWARDED):
        value = getattr(cls, name)
        if value is None:  # As __hash__ of what cannot be hashed.
            found[name] = None
        elif callable(value) and not isinstance(value, type):
            found[name] = _forward(name)
    return found


def _subscript(made: type[Wrapped[Any]], parameters: Any) -> types.GenericAlias:
    made._muster_class[parameters]  # type: ignore[attr-defined]  # Raises for what it does not take.
    return types.GenericAlias(made, parameters)


def wrapped_class(
    cls: type, base: type[Wrapped[Any]], init: Callable[..., None]
) -> type[Wrapped[Any]]:
    """A class of `base` that looks as `cls` does; `init` makes the local instance."""
    body = {
        **_special_methods(cls),
        "__init__": init,
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__wrapped__": cls,
        # What isinstance() asks when it does not know the type.
        "__class__": property(lambda self: cls),
        "_muster_class": cls,
        "_muster_given": frozenset(name for name in dir(base) if not name.startswith("_")),
    }
    if hasattr(cls, "__class_getitem__"):
        body["__class_getitem__"] = classmethod(_subscript)
    return cast("type[Wrapped[Any]]", _WrappedClass(cls.__name__, (base,), body))
