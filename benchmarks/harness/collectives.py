"""The suite of collectives: many cases, made from what their names are made of.

Bars stand per case and peer; where several rules give one, the highest counts.
"""

from benchmarks.harness.suite import Case, Peer, Suite

OPERATIONS = (
    "broadcast",
    "scatter",
    "gather",
    "reduce",
    "allreduce",
    "allgather",
    "reduce_scatter",
    "alltoall",
)
SIZES = ("4B", "4K", "1M", "64M")
RANKS = (2, 4, 8)

# name: bars of (plain, arena) for mpi.
MPI = {
    **{f"allreduce.64M.{n}": (2.3, 3.2) for n in (4, 8)},
    **{f"allreduce.1M.{n}": (1.3, 3.0) for n in (4, 8)},
    "allreduce.4B.2": (1.3, 1.3),
    "allreduce.4B.4": (0.85, 0.85),
    "allreduce.4B.8": (1.1, 1.1),
    **{f"reduce_scatter.64M.{n}": (5.0, 5.0) for n in (4, 8)},
    **{f"reduce.1M.{n}": (1.3, 3.0) for n in (4, 8)},
    **{f"reduce.64M.{n}": (2.5, 3.0) for n in (4, 8)},
    **{f"{name}.64M.{n}": (1.0, 1.7) for name in ("broadcast", "allgather") for n in (4, 8)},
    **{f"alltoall.64M.{n}": (0.85, 1.2) for n in (4, 8)},
}
GLOO = {
    **{f"allreduce.64M.{n}": (3.5, 4.5) for n in (4, 8)},
    **{f"allreduce.1M.{n}": (10.0, 20.0) for n in (4, 8)},
    **{f"allreduce.4B.{n}": (50.0, 50.0) for n in (2, 4, 8)},
}
FLOOR = (0.65, 0.9)
RAW = {"allreduce.64M.4.arena": 0.7}

HEADLINES = (
    "allreduce.64M.4",
    "allreduce.64M.4.arena",
    "allreduce.1M.4",
    "allreduce.4B.4",
    "reduce_scatter.64M.4",
    "broadcast.64M.4",
    "alltoall.64M.4.arena",
    "tcp.allreduce.64M.4",
)


def _local(name: str, *, arena: bool) -> Case:
    which = 1 if arena else 0
    full = f"{name}.arena" if arena else name
    # Neither peer has an arena: they do the plain work.
    plain = name if arena else None
    peers = [Peer("mpi", max(MPI.get(name, FLOOR)[which], FLOOR[which]), case=plain)]
    if name in GLOO:
        peers.append(Peer("gloo", GLOO[name][which], case=plain))
    if full in RAW:
        peers.append(Peer("raw", RAW[full], case=plain))
    return Case(full, tuple(peers))


def _cases() -> tuple[Case, ...]:
    names = [f"{op}.{size}.{n}" for op in OPERATIONS for size in SIZES for n in RANKS]
    local = [_local(name, arena=arena) for name in names for arena in (False, True)]
    tcp = [
        Case(f"tcp.{op}.{size}.{n}", (Peer("mpi", 1.0), Peer("gloo", 1.5)))
        for op in OPERATIONS
        for size in ("4K", "64M")
        for n in (2, 4)
    ]
    # Reading k sources takes longer than reading one; stores past the caches make up for some.
    kernels = [
        Case(name, (Peer("raw", bar, case="memory.copy"),))
        for name, bar in (("kernel.copy", 1.0), ("kernel.sum.2", 0.8), ("kernel.sum.4", 0.45))
    ]
    return (*local, *tcp, *kernels)


COLLECTIVES = Suite("collectives", _cases(), quick=HEADLINES)
