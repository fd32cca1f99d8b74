"""Every run has registries and a token of its own, every test a group of its own."""

from __future__ import annotations

import itertools
import os
import pathlib
import signal
from collections.abc import Callable, Iterator

import pytest

import muster

# Before numpy: small products are not worth another thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A run in the background may have inherited that Ctrl-C is ignored; so would what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing here takes a fraction of it, but on a machine that stands still for a while.
PATIENCE = 30.0

_groups = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set before the first proxy is made; child processes inherit it."""
    for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        folder = tmp_path_factory.mktemp(name.lower())
        folder.chmod(0o700)
        os.environ[name] = str(folder)
    yield


@pytest.fixture
def group() -> str:
    """A name that no other test uses."""
    return f"g{os.getpid()}-{next(_groups)}"


Join = Callable[..., muster.Proxy]


@pytest.fixture
def join(group: str) -> Iterator[Join]:
    """Joins the test's group; all leave at its end."""
    proxies: list[muster.Proxy] = []

    def make(type_: str, name: str = "", **options: object) -> muster.Proxy:
        proxies.append(
            muster.Proxy(group, type_, name, timeout=PATIENCE, **options)  # type: ignore[arg-type]
        )
        return proxies[-1]

    yield make
    for proxy in reversed(proxies):
        if proxy.ended is None:
            proxy.leave(timeout=PATIENCE)


@pytest.fixture
def pair(join: Join) -> tuple[muster.Proxy, muster.Proxy]:
    """Two that know each other: a and b."""
    a = join("one", "a")
    b = join("other", "b", expected=["a"])
    a.wait_for_peers(["b"], timeout=PATIENCE)
    return a, b


@pytest.fixture
def script(tmp_path: pathlib.Path) -> Callable[[str], pathlib.Path]:
    """A program in a file, as spawned children must import it."""

    def write(text: str) -> pathlib.Path:
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write
