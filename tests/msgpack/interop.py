"""Compares Muster's value documents with those of Python's msgpack, both ways.

Every document goes through msgpack_peer, which decodes it and encodes it again.
What comes back must be what msgpack itself would have written, and msgpack must
read from it what went in. Exits non-zero at the first that differs.

    interop.py path/to/msgpack_peer path/to/golden/v1
"""

import math
import pathlib
import random
import struct
import subprocess
import sys
from typing import Any

import msgpack

INVALID, UNSUPPORTED = 1, 3  # Error codes, as in muster/base/error.h.
BYTES, TENSOR = 1, 2  # Extension types.
OUT_OF_BAND_FROM = 4096


class Peer:
    """A running msgpack_peer."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.documents = 0

    def ask(self, tree: bytes, parts: list[bytes] | None = None) -> tuple[int, list[bytes]]:
        """Gives the status, then tree and parts, or the error's message."""
        strings = [tree, *(parts or [])]
        request = struct.pack("<II", 0, len(strings))
        request += b"".join(struct.pack("<I", len(s)) + s for s in strings)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(request)
        self.process.stdin.flush()
        self.documents += 1
        status, count = struct.unpack("<II", self._read(8))
        return status, [self._read(*struct.unpack("<I", self._read(4))) for _ in range(count)]

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        check(self.process.wait() == 0, "the peer ends in peace")

    def _read(self, size: int) -> bytes:
        assert self.process.stdout
        data = self.process.stdout.read(size)
        check(len(data) == size, "the peer still answers")
        return data


def check(truth: bool, claim: str, *details: object) -> None:
    if not truth:
        sys.exit(f"not so: {claim}" + "".join(f"\n  {detail!r}" for detail in details))


def unpack(tree: bytes) -> Any:
    """Maps become tuples of pairs: keys may be unhashable, and 1 is not True."""
    return msgpack.unpackb(
        tree,
        strict_map_key=False,
        object_pairs_hook=lambda pairs: ("map", *pairs),
        ext_hook=msgpack.ExtType,
        timestamp=0,
    )


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types, and NaN equal to itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, list | tuple) and not isinstance(a, msgpack.ExtType):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def check_same(peer: Peer, value: Any, parts: list[bytes] | None = None) -> None:
    """What msgpack writes is read, and written again to the byte."""
    tree = msgpack.packb(value)
    status, answer = peer.ask(tree, parts)
    check(status == 0, "the document is read", value, answer)
    check(answer == [tree, *(parts or [])], "both write the same", value, answer[0], tree)
    check(same(unpack(answer[0]), unpack(tree)), "both read the same", value, answer[0])


def check_reads(peer: Peer, tree: bytes, value: Any) -> None:
    """A document that msgpack would write shorter is read, and written shorter."""
    status, answer = peer.ask(tree)
    check(status == 0, "the document is read", tree, answer)
    check(answer == [msgpack.packb(value)], "it is written anew", tree, answer, value)


def check_refused(peer: Peer, status: int, tree: bytes, parts: list[bytes] | None = None) -> None:
    got, answer = peer.ask(tree, parts)
    check(got == status, f"the document is refused with {status}", got, tree, answer)
    check(answer[0].startswith(b"byte "), "the error names a place", answer)


def bytes_part(index: int) -> msgpack.ExtType:
    return msgpack.ExtType(BYTES, struct.pack("<I", index))


def tensor_part(index: int, dtype: int, *shape: int) -> msgpack.ExtType:
    return msgpack.ExtType(TENSOR, struct.pack(f"<II{len(shape)}Q", index, dtype, *shape))


def boundary_integers() -> list[int]:
    edges = [0, 32, *(1 << power for power in range(65))]
    near = {sign * edge + delta for edge in edges for delta in (-1, 0, 1) for sign in (1, -1)}
    return sorted(n for n in near if -(1 << 63) <= n < 1 << 64)


def reals() -> list[float]:
    plain = [0.0, -0.0, 0.1, 2.5, 1e300, 5e-324, 1.7976931348623157e308, math.pi]
    return [*plain, *(-r for r in plain), math.inf, -math.inf, math.nan]


def plain_values() -> list[Any]:
    sizes = [0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 65535, 65536, 65537]
    return [
        None,
        False,
        True,
        *boundary_integers(),
        *reals(),
        *("x" * size for size in sizes),
        *("\u20ac\U0001f40e" * size for size in sizes[:9]),
        "\0",
        *(bytes(size) for size in sizes if size < OUT_OF_BAND_FROM),
        *([None] * size for size in sizes),
        *({n: n for n in range(size)} for size in sizes),
        {"a": {"b": {"c": [1, {"d": {}}]}}, 1: -1, None: True, False: [], b"k": "v", 2.5: {}},
    ]


def random_value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(9 if depth else 7)
    match kind:
        case 0:
            return rng.choice([None, False, True])
        case 1 | 2:
            return rng.randrange(-(1 << 63), 1 << 64) >> rng.randrange(64)
        case 3:
            return rng.choice([rng.random(), rng.gauss(0, 1e9), rng.choice(reals())])
        case 4 | 5:
            letters = "ab\0\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"
            return "".join(rng.choices(letters, k=rng.randrange(40)))
        case 6:
            return rng.randbytes(rng.randrange(300))
        case 7:
            return [random_value(rng, depth - 1) for _ in range(rng.randrange(20))]
        case _:
            count = rng.randrange(20)
            return {random_value(rng, 0): random_value(rng, depth - 1) for _ in range(count)}


def check_plain(peer: Peer) -> None:
    for value in plain_values():
        check_same(peer, value)
    deepest: Any = []
    for _ in range(63):
        deepest = [deepest]
    check_same(peer, deepest)
    check_refused(peer, INVALID, msgpack.packb([deepest]))
    rng = random.Random(1)
    for _ in range(1000):
        check_same(peer, random_value(rng, 4))


def check_other_widths(peer: Peer) -> None:
    """Longer encodings than need be, which msgpack reads but does not write."""
    for mark, form in [(0xCC, "B"), (0xCD, "H"), (0xCE, "I"), (0xCF, "Q")]:
        for n in (0, 1, 127, 2 ** (8 * struct.calcsize(form)) - 1):
            check_reads(peer, struct.pack(">B" + form, mark, n), n)
    for mark, form in [(0xD0, "b"), (0xD1, "h"), (0xD2, "i"), (0xD3, "q")]:
        for n in (-1, 0, 1, 127, -(2 ** (8 * struct.calcsize(form) - 1))):
            check_reads(peer, struct.pack(">B" + form, mark, n), n)
    for mark, form in [(0xD9, "B"), (0xDA, "H"), (0xDB, "I")]:
        check_reads(peer, struct.pack(">B" + form, mark, 2) + b"hi", "hi")
    for mark, form in [(0xC4, "B"), (0xC5, "H"), (0xC6, "I")]:
        check_reads(peer, struct.pack(">B" + form, mark, 2) + b"hi", b"hi")
    for mark, form in [(0xDC, "H"), (0xDD, "I")]:
        check_reads(peer, struct.pack(">B" + form, mark, 2) + b"\1\2", [1, 2])
    for mark, form in [(0xDE, "H"), (0xDF, "I")]:
        check_reads(peer, struct.pack(">B" + form, mark, 1) + b"\1\2", {1: 2})
    for real in (0.0, -0.0, 2.5, 0.1, math.inf, -math.inf):
        single = msgpack.packb(real, use_single_float=True)
        check_reads(peer, single, struct.unpack(">f", single[1:])[0])


def check_parts(peer: Peer) -> None:
    large, small = bytes(OUT_OF_BAND_FROM), b"small"
    check_same(peer, bytes_part(0), [large])
    check_same(peer, {"a": bytes_part(0), "b": [bytes_part(1)]}, [large, large + b"x"])
    check_same(peer, tensor_part(0, 13), [bytes(8)])
    check_same(peer, tensor_part(0, 12, 0), [b""])
    for dtype, size in enumerate([1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16], start=1):
        check_same(peer, [tensor_part(0, dtype, 2, 3, 1)], [bytes(6 * size)])
    check_same(peer, tensor_part(0, 3, *[1] * 64), [b"x"])
    check_same(peer, [tensor_part(0, 3, 1), bytes_part(1)], [b"x", large])

    # The size decides where bytes go, whichever way they came.
    status, answer = peer.ask(msgpack.packb([bytes_part(0)]), [small])
    check((status, answer) == (0, [msgpack.packb([small])]), "small parts join the tree", answer)
    status, answer = peer.ask(msgpack.packb([large]))
    check(
        (status, answer) == (0, [msgpack.packb([bytes_part(0)]), large]),
        "large bytes leave the tree",
        answer[0],
    )

    check_refused(peer, INVALID, msgpack.packb(bytes_part(0)))
    check_refused(peer, INVALID, msgpack.packb([bytes_part(1), bytes_part(0)]), [large, large])
    check_refused(peer, INVALID, msgpack.packb([bytes_part(0), bytes_part(0)]), [large])
    check_refused(peer, INVALID, msgpack.packb(1), [large])
    check_refused(peer, INVALID, msgpack.packb(tensor_part(0, 12, 3)), [bytes(13)])
    check_refused(peer, INVALID, msgpack.packb(tensor_part(0, 99, 3)), [bytes(3)])
    check_refused(peer, INVALID, msgpack.packb(tensor_part(0, 8, 1 << 61)), [b""])
    for code in (0, 3, 127):
        for size in (1, 2, 3, 4, 8, 16, 17, 256, 65536):
            check_refused(peer, UNSUPPORTED, msgpack.packb(msgpack.ExtType(code, bytes(size))))
    check_refused(peer, UNSUPPORTED, msgpack.packb(msgpack.Timestamp(1, 2)))


def check_broken(peer: Peer) -> None:
    whole = msgpack.packb({"list": [1, -1000, 2.5, None, b"bytes"], "text": "x" * 40})
    for size in range(len(whole)):
        check_refused(peer, INVALID, whole[:size])
    check_refused(peer, INVALID, whole + b"\0")
    check_refused(peer, INVALID, b"\xc1")
    for text in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80"):
        check_refused(peer, INVALID, bytes([0xA0 | len(text)]) + text)
    check_refused(peer, INVALID, b"\xdd\xff\xff\xff\xff")


def check_golden(peer: Peer, folder: pathlib.Path) -> None:
    """msgpack reads the documents in the tree, and writes them so."""
    files = sorted(folder.glob("document_*.hex"))
    check(len(files) > 0, "there are golden documents", folder)
    for file in files:
        strings: list[bytes] = []
        for line in file.read_text().splitlines():
            if line in ("tree", "part"):
                strings.append(b"")
            elif line.startswith(" "):
                strings[-1] += bytes.fromhex(line)
        tree, *parts = strings
        packer = msgpack.Packer(autoreset=False)
        pack_pairs(packer, unpack(tree))
        check(packer.bytes() == tree, "msgpack writes the golden document", file.name)
        status, answer = peer.ask(tree, parts)
        check(status == 0, "the golden document is read", file.name, answer)


def pack_pairs(packer: msgpack.Packer, value: Any) -> None:
    """Packs what unpack() gave."""
    if isinstance(value, tuple) and not isinstance(value, msgpack.ExtType):
        packer.pack_map_header(len(value) - 1)
        for key, item in value[1:]:
            pack_pairs(packer, key)
            pack_pairs(packer, item)
    elif isinstance(value, list):
        packer.pack_array_header(len(value))
        for item in value:
            pack_pairs(packer, item)
    else:
        packer.pack(value)


def main() -> None:
    peer = Peer(sys.argv[1])
    check_plain(peer)
    check_other_widths(peer)
    check_parts(peer)
    check_broken(peer)
    check_golden(peer, pathlib.Path(sys.argv[2]))
    peer.close()
    version = ".".join(map(str, msgpack.version))
    print(f"msgpack {version}: {peer.documents} documents, no difference")


if __name__ == "__main__":
    main()
