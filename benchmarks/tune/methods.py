"""What there is to choose from, and the sizes at which it is measured."""

from benchmarks.tune.table import Method

SIZES = {"16K": 16 << 10, "128K": 128 << 10, "1M": 1 << 20, "8M": 8 << 20, "32M": 32 << 20}
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

_STAGED = tuple(Method("staged", size << 10) for size in (64, 256, 1024))
_DIRECT = (Method("direct", 0),)
_DIRECT_IN_PARTS = tuple(Method("direct", size << 10) for size in (0, 256, 1024, 4096))
_PIPELINES = (64, 256, 1024)


def _messages(operation: str) -> tuple[Method, ...]:
    chains = tuple(Method("chain", size << 10) for size in _PIPELINES)
    rings = tuple(Method("ring", size << 10) for size in _PIPELINES)
    match operation:
        case "broadcast":
            return (Method("linear"), Method("tree"), *chains)
        case "scatter" | "gather":
            return (Method("linear"), Method("tree"))
        case "reduce":
            return (Method("linear"), Method("tree"), *chains)
        case "all_reduce":
            return (Method("star"), Method("doubling"), Method("rabenseifner"), *rings)
        case "all_gather":
            return (Method("linear"), Method("star"), Method("doubling"), *rings)
        case "reduce_scatter":
            return (Method("linear"), Method("halving"), Method("pairwise"), *rings)
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
