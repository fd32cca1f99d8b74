"""The suites. A new one is a new entry of SUITES; nothing else has to change."""

from benchmarks.harness.collectives import COLLECTIVES
from benchmarks.harness.suite import Case, Limit, Peer, Suite

NNG = Peer("nng")
ZMQ = Peer("zmq")

DRIVERS = Suite(
    "drivers",
    (
        Case("shm.rtt.awake", (Peer("raw", 0.5), Peer("zmq", 40), Peer("ucx", 0.6), NNG)),
        Case("shm.rtt.parked", (Peer("raw", 0.85), ZMQ, NNG)),
        Case("tcp.rtt.awake", (Peer("raw", 0.77), Peer("zmq", 8), Peer("ucx", 0.9), NNG)),
        Case("tcp.rtt.parked", (Peer("raw", 0.87), ZMQ, NNG)),
        Case("shm.stream", (Peer("zmq", 6), Peer("ucx", 1.2), NNG)),
        Case("tcp.stream", (Peer("zmq", 4), NNG)),
        Case("shm.large.inplace", (Peer("raw", 0.9),)),
        Case("shm.handover.64K", limits=(Limit(20, "us"),)),
        Case("shm.handover.256M", limits=(Limit(20, "us"),)),
        # The receiver has slept since the body before: what is that to the machine?
        Case("shm.handover.asleep", (Peer("raw", 0.85),)),
        Case("shm.large.copied", (Peer("zmq", 8),)),
        # libzmq has no use for process_vm: it does the same work either way.
        Case("shm.large.noptrace", (Peer("zmq", 6, case="shm.large.copied"),)),
        Case("tcp.large", (Peer("raw", 0.85), Peer("zmq", 4))),
        # Encrypted, against our own without.
        Case("tls.rtt.awake", (Peer("tcp", 0.66, case="tcp.rtt.awake"),)),
        Case("tls.large", (Peer("tcp", 0.4, case="tcp.large"),)),
        # libzmq carries ours too: what does the rest cost?
        Case("zmq.rtt", (Peer("zmq", 0.85, case="tcp.rtt.awake"),)),
        Case("zmq.stream", (Peer("zmq", 0.85, case="tcp.stream"),)),
        Case("zmq.large", (Peer("zmq", 0.85, case="tcp.large"),)),
        Case("zmq.curve.rtt", (Peer("zmq", 0.85, case="curve.rtt"),)),
        Case("zmq.curve.stream", (Peer("zmq", 0.85, case="curve.stream"),)),
        Case("zmq.curve.large", (Peer("zmq", 0.85, case="curve.large"),)),
        # Over posix and cma, as UCX's own.
        Case("ucx.rtt.awake", (Peer("ucx", 0.5),)),
        Case("ucx.large", (Peer("ucx", 0.85),)),
        Case(
            "shm.crowd",
            (Peer("zmq", 1.5),),
            (Limit(1 / 3, "of the mean", lower_is_better=False, extra="slowest_share"),),
        ),
        Case("memory.link", limits=(Limit(100, "KiB"),)),
        Case("memory.1000", limits=(Limit(200, "MiB"),)),
    ),
)

COMMUNICATION = Suite(
    "communication",
    (
        # `driver` is our bare link, on the same work.
        Case(
            "task.shm",
            (
                Peer("driver", 0.4, case="shm.rtt.awake"),
                Peer("zmq", 20, case="shm.rtt.awake"),
            ),
        ),
        Case(
            "task.tcp",
            (
                Peer("driver", 0.66, case="tcp.rtt.awake"),
                Peer("zmq", 5, case="tcp.rtt.awake"),
            ),
        ),
        Case("scatter.crowd", (Peer("zmq", 2),)),
        Case("broadcast.large", (Peer("zmq", 8),)),
        Case("join.50", limits=(Limit(2, "s"),)),
        Case("loss.known", limits=(Limit(50, "ms"),)),
        Case(
            "event.push",
            limits=(Limit(1, "us"), Limit(1.5, "times as long", extra="growth")),
        ),
    ),
)

PYTHON = Suite(
    "python",
    (
        Case("py.task.shm", (Peer("pyzmq", 6), Peer("ray", 30)), (Limit(12, "us"),)),
        Case("py.task.tcp", (Peer("pyzmq", 2.5),)),
        Case("py.stream", (Peer("pyzmq", 1),)),
        Case("py.stream.dict", (Peer("pyzmq", 1.5),)),
        Case("py.large", (Peer("pyzmq", 8), Peer("pyzmq-nocopy", 4))),
        Case("py.handover.64K", limits=(Limit(50, "us"),)),
        Case("py.handover.256M", limits=(Limit(50, "us"),)),
        Case("py.broadcast", (Peer("pyzmq", 8), Peer("ray", 3))),
        # `c++` is our own without Python.
        Case(
            "py.allreduce",
            (Peer("mpi4py", 2.3), Peer("c++", 0.95, case="allreduce.64M.4")),
        ),
        Case(
            "py.allreduce.arena",
            (
                Peer("mpi4py", 3.2, case="py.allreduce"),
                Peer("c++", 0.95, case="allreduce.64M.4.arena"),
            ),
        ),
        Case("py.import", limits=(Limit(50, "ms"),)),
    ),
    language="python",
)

SUITES = {suite.name: suite for suite in (DRIVERS, COMMUNICATION, COLLECTIVES, PYTHON)}
