"""What bodies become on the wire, and what they are again."""

from __future__ import annotations

import array
import contextlib
import datetime
import enum
import importlib.util
import math
import pathlib
import random
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from numpy._core._rational_tests import rational

import muster
from muster import _core
from muster._arrays import describe


def again(body: Any, accepts_pickles: bool = False) -> Any:
    """What the receiver gets."""
    form, parts = _core.encode(body)
    return _core.decode(form, [bytes(part) for part in parts], accepts_pickles)


@pytest.mark.parametrize(
    "body",
    [
        None,
        True,
        False,
        0,
        127,
        128,
        -1,
        -32,
        -33,
        -129,
        255,
        65536,
        2**32,
        2**63 - 1,
        2**64 - 1,
        -(2**63),
        1.5,
        math.inf,
        "",
        "text",
        "größer als ASCII \U0001f600",
        "x" * 40,
        "y" * 70000,
        b"",
        b"bytes",
        b"z" * 100_000,
        [],
        [1, [2, [3, []]]],
        {},
        {"a": 1, "b": {"c": [None, True, b"d"]}},
        {1: "one", 2.5: "two", None: "three", False: 4, b"k": 5},
        {"k" * 31: 1, "k" * 32: 2, "schlüssel": 3},
        {i: str(i) for i in range(100)},
        [b"q" * 5000, b"r" * 4096, b"s" * 4095],
    ],
    ids=lambda body: repr(body)[:24],
)
def test_plain_values_come_as_they_went(body: Any) -> None:
    got = again(body)
    assert got == body
    assert type(got) is type(body)


@pytest.mark.parametrize(
    "body",
    [
        (),
        (1, (2, [3, (4,)])),
        [(), [()]],
        {"pair": (1, [2])},
        {(1, (2, "x")): "cell"},
        tuple(range(15)),
        tuple(range(16)),
        tuple(range(65535)),
        list(range(16)),
        list(range(65536)),
    ],
    ids=lambda body: repr(body)[:24],
)
def test_tuples_stay_tuples_and_lists_lists(body: Any) -> None:
    assert again(body) == body  # Which no tuple and list are.


def test_a_tuple_of_more_than_65535_items_comes_as_a_list() -> None:
    assert again(tuple(range(65536))) == list(range(65536))


def test_a_tuple_is_a_list_to_all_who_read_messagepack() -> None:
    _, (tree,) = _core.encode([(1, 2), [3]])
    # Array of two; array 16 of two: 1, 2; array of one: 3.
    assert bytes(memoryview(tree)) == bytes.fromhex("92 dc0002 01 02 91 03")


def test_not_a_number_stays_one() -> None:
    assert math.isnan(again(math.nan))


class Colour(enum.IntEnum):
    RED = 3


Point = namedtuple("Point", "x y")


class Blob(bytes):
    """Of a user's own."""


class FrozenDict(dict[str, int]):
    """Can be a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return len(self)


def test_what_is_a_plain_value_by_birth_comes_as_one() -> None:
    assert again(Colour.RED) == 3
    assert again(Point(1, 2)) == (1, 2) and type(again(Point(1, 2))) is tuple
    assert again(OrderedDict(a=1)) == {"a": 1}
    assert again(Blob(b"text")) == b"text" and type(again([Blob(9000)])[0]) is bytes
    assert again(
        [np.float32(1.5), np.int64(-3), np.bool_(True), np.float64(2.5), np.str_("s")]
    ) == [
        1.5,
        -3,
        True,
        2.5,
        "s",
    ]


def test_an_array_whose_class_says_more_than_its_elements_is_a_pickle() -> None:
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    got = again(masked, accepts_pickles=True)
    assert isinstance(got, np.ma.MaskedArray) and got.sum() == 4
    with pytest.raises(muster.UnsupportedError, match="pickle"):
        again(masked)


# A dtype of another package, as those of ml_dtypes are.
@pytest.mark.parametrize("dtype", [rational, [("x", rational)], [("x", rational, 2)]], ids=str)
def test_an_array_of_a_dtype_that_numpy_cannot_name_is_a_pickle(dtype: Any) -> None:
    sent = np.ones(3, dtype)
    got = again(sent, accepts_pickles=True)
    assert got.dtype == sent.dtype and (got == sent).all()
    with pytest.raises(muster.UnsupportedError, match="accepts_pickles=True"):
        again(sent)
    with pytest.raises(ValueError, match="cannot be described"):
        describe(sent)


def test_arrays_of_files_and_records_are_arrays(tmp_path: pathlib.Path) -> None:
    np.arange(6, dtype="f4").tofile(tmp_path / "six")
    got = again(np.memmap(tmp_path / "six", "f4", "r"))
    assert type(got) is np.ndarray and got.tolist() == [0, 1, 2, 3, 4, 5]
    records = np.rec.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    got = again(records)
    assert type(got) is np.ndarray and got["b"].tolist() == [2.5]


DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 q Q l L".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
def test_arrays_come_with_dtype_shape_and_elements(dtype: str, shape: tuple[int, ...]) -> None:
    sent = (np.arange(math.prod(shape)) % 7).astype(dtype).reshape(shape)

    got = again({"array": sent})["array"]

    assert got.dtype == sent.dtype
    assert got.shape == sent.shape
    np.testing.assert_array_equal(got, sent)
    assert not got.flags.writeable


@pytest.mark.parametrize(
    "sent",
    [
        np.arange(24.0).reshape(2, 3, 4).T,
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(20)[::-3],
        np.arange(20).reshape(4, 5)[1:3, 2:],
        np.broadcast_to(np.arange(3), (4, 3)),
        np.arange(5, dtype=">f8"),
        np.array(["a", "long text"]),
        np.array([b"a", b"bytes"]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[ms]"),
        np.array([(1, 2.5, "x")], dtype=[("a", "i4"), ("b", ">f8"), ("c", "U3")]),
        np.zeros(3, dtype=[("p", "f4", (2, 2)), ("q", "u1")]),
        np.array([b"abc"], dtype="V3"),
        np.arange(3, dtype="g"),
    ],
    ids=lambda sent: f"{sent.dtype.str}{sent.shape}",
)
def test_any_layout_and_dtype_comes_whole(sent: Any) -> None:
    got = again(sent)
    assert got.shape == sent.shape
    assert got.dtype == sent.dtype.newbyteorder("<") or got.dtype == sent.dtype
    np.testing.assert_array_equal(got, np.asarray(sent))


def test_bytes_like_objects_come_as_arrays_of_their_items() -> None:
    np.testing.assert_array_equal(again(bytearray(b"abc")), np.frombuffer(b"abc", "u1"))
    np.testing.assert_array_equal(again(memoryview(b"abc")), np.frombuffer(b"abc", "u1"))
    np.testing.assert_array_equal(again(array.array("d", [1, 2])), np.array([1.0, 2.0]))


class Exporter:
    """Knows nothing but DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_what_speaks_dlpack_comes_as_an_array() -> None:
    np.testing.assert_array_equal(again(Exporter(np.arange(6.0))), np.arange(6.0))


if importlib.util.find_spec("torch") is not None:

    def test_torch_tensors_come_as_arrays() -> None:
        import torch

        tensor = torch.arange(6, dtype=torch.float32, requires_grad=True).reshape(2, 3).T
        np.testing.assert_array_equal(again(tensor), np.arange(6, dtype="f4").reshape(2, 3).T)
        half = torch.tensor([1.0, -2.0], dtype=torch.bfloat16)
        assert again(half).view("u2").tolist() == [0x3F80, 0xC000]
        assert again(torch.tensor(3.5)).item() == 3.5
        assert again(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
        assert again(torch.arange(4).flip(0)).tolist() == [3, 2, 1, 0]
        weights = torch.nn.Linear(2, 3).state_dict()
        for name, array in again(weights).items():
            np.testing.assert_array_equal(array, weights[name].numpy())
        with pytest.raises(TypeError, match="[Ss]parse"):
            again(torch.eye(3).to_sparse())


class Thing:
    def __init__(self, data: Any) -> None:
        self.data = data


def test_other_objects_are_pickles_where_these_are_accepted() -> None:
    got = again({"thing": Thing(np.arange(5))}, accepts_pickles=True)["thing"]
    assert isinstance(got, Thing)
    np.testing.assert_array_equal(got.data, np.arange(5))
    for body in ({1, 2}, 2**70, datetime.date(2024, 1, 1), 1j, np.array([{1}], dtype=object)):
        assert again(body, accepts_pickles=True) == body


def test_keys_may_be_pickles_where_these_are_accepted() -> None:
    day = datetime.date(2024, 1, 1)
    body = {day: 1, frozenset({2}): [3], (day, "x"): {2**70: b"y" * 5000}, "z": np.arange(3)}
    got = again(body, accepts_pickles=True)
    assert list(got)[:3] == list(body)[:3] and got[frozenset({2})] == [3]
    assert got[day, "x"] == {2**70: b"y" * 5000} and got["z"].tolist() == [0, 1, 2]
    with pytest.raises(muster.UnsupportedError, match="accepts_pickles=True"):
        again({day: 1})


@pytest.mark.parametrize("key", [memoryview(b"x"), (1, memoryview(b"x")), FrozenDict()])
def test_what_cannot_be_a_key_is_refused_before_it_is_sent(key: Any) -> None:
    with pytest.raises(muster.InvalidError, match="key of"):
        _core.encode([{"a": {key: 1}}])
    _core.encode([{"a": {"k": 1}}, np.zeros(3)])


def test_the_arrays_of_a_pickle_stay_outside_it() -> None:
    _, parts = _core.encode(Thing(np.zeros(100_000)))
    assert [len(part) for part in parts if len(part) > 10_000] == [800_000]


def test_pickles_are_refused_where_they_are_not_accepted() -> None:
    with pytest.raises(muster.UnsupportedError, match="accepts_pickles=True"):
        again(Thing(1))


def test_what_cannot_be_sent_says_why() -> None:
    with pytest.raises(ValueError, match="cannot be pickled"):
        _core.encode(lambda: 1)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(muster.InvalidError, match="nested deeper"):
        _core.encode(endless)
    with pytest.raises(muster.InvalidError, match="more than 1023 arrays"):
        _core.encode([np.zeros(1)] * 1024)
    with pytest.raises(ValueError):
        _core.encode("\ud800")


def _wild(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [_wild(rng, depth + 1) for _ in range(rng.randrange(5))]
    if kind == 8:
        return {str(rng.random()): _wild(rng, depth + 1) for _ in range(rng.randrange(5))}
    return [
        None,
        rng.random() < 0.5,
        rng.randrange(-(2**63), 2**64),
        rng.randrange(-200, 300),
        rng.gauss(0, 1e10),
        "".join(chr(rng.choice([65, 228, 8364, 0x1F600])) for _ in range(rng.randrange(40))),
        rng.randbytes(rng.randrange(300)),
    ][kind]


def test_trees_of_all_kinds_come_as_they_went() -> None:
    rng = random.Random(7)
    for _ in range(500):
        body = _wild(rng)
        assert again(body) == body


def test_bytes_from_strangers_cost_an_exception_at_most() -> None:
    rng = random.Random(11)
    _, parts = _core.encode({"a": [1, 2.5, "x" * 40], "b": np.arange(4), "c": b"y" * 5000})
    whole = [bytes(part) for part in parts]
    refused = 0
    for _ in range(5000):
        tree = bytearray(whole[0])
        for _ in range(rng.randrange(1, 4)):
            tree[rng.randrange(len(tree))] = rng.randrange(256)
        cut = bytes(tree[: rng.randrange(len(tree) + 1)] if rng.random() < 0.3 else tree)
        try:
            _core.decode(2, [cut, *whole[1 : rng.randrange(1, 4)]])
        except muster.Error:
            refused += 1
    assert refused > 2000
    for _ in range(5000):
        with contextlib.suppress(muster.Error):
            _core.decode(2, [rng.randbytes(rng.randrange(40))])


@pytest.mark.parametrize(
    "tree",
    [
        b"\xdd\xff\xff\xff\xff",  # A list of 4 G items.
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x91" * 100 + b"\xc0",
        b"\x81\x80\xc0",  # A dict as a key.
        b"\xc0\xc0",
        b"",
        b"\xa1\xff",  # No UTF-8.
    ],
)
def test_claims_that_cannot_be_met_are_refused(tree: bytes) -> None:
    with pytest.raises(muster.InvalidError):
        _core.decode(2, [tree])
