"""What there is to choose from, and the sizes and numbers of ranks at which it is measured.

Barriers are not among the operations, since the benchmark has no case of one; `hosts` is not
among the grounds, since ranks that it forks are on one host. Rows of both are written by hand.
"""

from collections.abc import Iterable

from benchmarks.tune.table import Method

SIZES = {
    "4K": 4 << 10,
    "16K": 16 << 10,
    "128K": 128 << 10,
    "1M": 1 << 20,
    "8M": 8 << 20,
    "32M": 32 << 20,
    "64M": 64 << 20,
}
# With how many ranks it is measured, and from how many on that counts: for all up to where the
# next begins. Where the table has a border between two of them, it counts from there instead.
RANKS = {2: 2, 4: 3, 8: 8}

# The benchmark's names of operations, and the library's.
OPERATIONS = {
    "broadcast": "broadcast",
    "scatter": "scatter",
    "gather": "gather",
    "reduce": "reduce",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}
GROUNDS = ("arena", "readable", "windows", "links")

# Larger ones do not fit the windows, and are made smaller.
_STAGED = tuple(Method("staged", size << 10) for size in (64, 256, 1024))
_DIRECT = (Method("direct", 0),)
_DIRECT_IN_PARTS = tuple(Method("direct", size << 10) for size in (0, 256, 1024, 4096))
_CHAINS = tuple(Method("chain", size << 10) for size in (64, 256, 512, 1024, 2048))
# Blocks as a whole may be lent to the system. A chain of wholes has no two ranks busy at once.
_RINGS = tuple(Method("ring", size << 10) for size in (64, 256, 512, 1024, 2048, 0))


def _messages(operation: str) -> tuple[Method, ...]:
    match operation:
        case "broadcast":
            return (Method("linear"), Method("tree"), *_CHAINS)
        case "scatter" | "gather":
            return (Method("linear"), Method("tree"))
        case "reduce":
            return (Method("linear"), Method("tree"), *_CHAINS)
        case "all_reduce":
            return (Method("star"), Method("doubling"), Method("rabenseifner"), *_RINGS)
        case "all_gather":
            return (Method("linear"), Method("star"), Method("doubling"), *_RINGS)
        case "reduce_scatter":
            return (Method("linear"), Method("halving"), Method("pairwise"), *_RINGS)
        case _:
            return (Method("pairwise"),)


def candidates(ground: str, operation: str) -> tuple[Method, ...]:
    if ground == "links":
        return _messages(operation)
    reduces = operation in ("reduce", "all_reduce")
    found: tuple[Method, ...] = _STAGED
    if reduces:
        found += (Method("flat"),)
    if ground != "windows":
        found += _DIRECT_IN_PARTS if reduces else _DIRECT
    return found


def as_done(method: Method, ranks: int, size: int) -> Method:
    """What it comes to: a segment that is not smaller than what is cut is all of it."""
    whole = size // ranks if method.algorithm == "ring" else size
    return Method(method.algorithm, method.segment if method.segment < whole else 0)


def different(methods: Iterable[Method], ranks: int, size: int) -> list[Method]:
    """The first of those that come to the same."""
    found: dict[Method, Method] = {}
    for method in methods:
        found.setdefault(as_done(method, ranks, size), method)
    return list(found.values())
