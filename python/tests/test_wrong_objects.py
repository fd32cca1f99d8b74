"""What is none of our objects, or was never made: a clear error, never the end of the process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PATIENCE

import muster
from muster import Proxy, _core


class Forgetful(Proxy):
    """Does not make what it is derived from."""

    def __init__(self) -> None:
        pass


class Thoughtful(Proxy):
    def __init__(self, group: str, extra: int) -> None:
        self.extra = extra
        super().__init__(group, "one")


class Late(Thoughtful):
    """Makes it in its own time."""

    def __init__(self, group: str) -> None:
        Proxy.__init__(self, group, "two")


def _over(proxy: Any) -> object:
    return muster.Communicator.over(proxy, "x", ["a"], timeout=1)


def _over_type(proxy: Any) -> object:
    return muster.Communicator.over_type(proxy, "x", "a", 1, timeout=1)


def _dist(proxy: Any) -> object:
    return muster.dist(proxy, {"x": print})(object)()


def _iterate(proxy: Any) -> object:
    return next(_core.Proxy._iterate(proxy, 0.1))


NO_PROXIES: dict[str, Callable[[Any], object]] = {
    "dist": _dist,
    "over": _over,
    "over_type": _over_type,
    "iterate": _iterate,
}


@pytest.mark.parametrize("call", NO_PROXIES.values(), ids=NO_PROXIES.keys())
def test_what_is_no_proxy_is_refused(call: Callable[[Any], object]) -> None:
    for wrong in ("no proxy", object(), None, 5):
        with pytest.raises(TypeError, match="muster.Proxy is wanted here|incompatible"):
            call(wrong)


@pytest.mark.parametrize("call", NO_PROXIES.values(), ids=NO_PROXIES.keys())
def test_a_proxy_that_was_never_made_says_so(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match=r"super\(\).__init__\(\)"):
        call(Forgetful.__new__(Forgetful))


def test_a_class_that_forgets_to_make_its_proxy_is_told_at_once(group: str) -> None:
    with pytest.raises(TypeError, match=r"Forgetful.* must call super\(\).__init__\(\)"):
        Forgetful()
    with Thoughtful(group, 5) as one, Late(group) as two:
        assert (one.type, two.type) == ("one", "two")


def test_objects_that_were_never_made_are_refused() -> None:
    with pytest.raises(TypeError, match="never made"):
        next(_core.Iteration.__new__(_core.Iteration))
    with pytest.raises(TypeError, match="never made"):
        memoryview(_core.Memory.__new__(_core.Memory))
    with pytest.raises(TypeError):
        _core.decode(2, [5.5])  # type: ignore[list-item]


def test_a_proxy_of_maros_is_none_of_ours() -> None:
    program = """
        import muster
        from muster.compat.maro import Proxy
        try:
            muster.dist(Proxy.__new__(Proxy), {"x": print})(object)()
        except TypeError as wrong:
            print("muster.Proxy is wanted" in str(wrong) and "compat.maro" in str(wrong))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
