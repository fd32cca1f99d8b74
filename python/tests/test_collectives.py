"""Collectives on arrays, between processes."""

from __future__ import annotations

import numpy as np
import pytest
from ranks import RANKS, run_ranks

import muster


def test_threads_may_run_where_they_might_before(group: str) -> None:
    program = """
        before = os.sched_getaffinity(0)
        for _ in range(5):
            all.all_reduce(np.ones(1 << 18))
        threads = os.listdir("/proc/self/task")
        print(len(threads) > 1, {os.sched_getaffinity(int(i)) == before for i in threads})
        """
    assert run_ranks(group, program) == ["True {True}"] * RANKS


def test_every_operation_does_what_it_says(group: str) -> None:
    program = """
        for make in (lambda *a: np.zeros(*a), lambda *a: muster.empty(*a)):
            mine = make(1000, "f4"); mine[:] = rank
            assert (all.all_reduce(mine) == 3).all()
            mine[:] = rank
            out = make(1000, "f4")
            assert all.all_reduce(mine, out, "max") is out and (out == 2).all()
            assert (mine == rank).all()
            data = make(7, "i8"); data[:] = rank
            assert (all.broadcast(data, root=1) == 1).all()
            gathered = all.gather(np.full(2, rank, "i4"), root=2)
            assert (gathered is None) == (rank != 2)
            if rank == 2: assert gathered.tolist() == [[0, 0], [1, 1], [2, 2]]
            assert all.all_gather(np.array([rank], "u1")).tolist() == [[0], [1], [2]]
            block = np.empty(2)
            everything = np.arange(6.0) if rank == 0 else None
            assert all.scatter(everything, block).tolist() == [2 * rank, 2 * rank + 1]
            assert all.reduce_scatter(np.arange(3.0), np.empty(1)).tolist() == [3 * rank]
            assert all.all_to_all(np.full(3, rank)).tolist() == [0, 1, 2]
            reduced = all.reduce(np.full(4, rank + 1.0), reduction="mean")
            if rank == 0: assert reduced.tolist() == [2, 2, 2, 2]
        all.barrier()
        right, left = (rank + 1) % size, (rank - 1) % size
        began = all.ibarrier()
        if rank == 0:
            all.send(np.array([5.0]), right); assert all.receive(np.empty(1), left) == [7.0]
        else:
            got = all.receive(np.empty(1), left); all.send(got + 1, right)
        began.result(30)
        async def go():
            return await all.iall_reduce(np.ones(3))
        print(asyncio.run(go()).tolist(), all.rank, all.size)
        """
    assert run_ranks(group, program) == [f"[3.0, 3.0, 3.0] {rank} 3" for rank in range(RANKS)]


def test_large_arrays_of_the_arena_are_combined_like_others(group: str) -> None:
    program = """
        count = 1 << 17
        for round in range(6):
            # New ones each time, of both kinds on different ranks, and parts of larger ones.
            part = lambda *a: muster.empty(3 * count, "f4")[count : 2 * count]
            kinds = [np.empty, muster.empty, part]
            mine = kinds[(rank + round) % 3](count, "f4")
            mine[:] = rank + round
            out = kinds[round % 3](count, "f4")
            assert (all.all_reduce(mine, out) == 3 + 3 * round).all()
            assert (mine == rank + round).all()
            assert (all.all_reduce(mine) == 3 + 3 * round).all()
            assert (all.broadcast(mine, root=round % 3) == 3 + 3 * round).all()
        all.barrier()
        """
    run_ranks(group, program)


def test_what_differs_is_an_error_everywhere(group: str) -> None:
    program = """
        try:
            all.all_reduce(np.zeros(10 if rank else 11))
        except ValueError:
            print("refused")
        """
    assert run_ranks(group, program) == ["refused"] * RANKS


def test_arrays_that_cannot_be_are_refused(group: str) -> None:
    with muster.Communicator(group, 0, 1) as alone:
        with pytest.raises(muster.UnsupportedError, match="astype"):
            alone.all_reduce(np.zeros(3, complex))
        with pytest.raises(ValueError, match="C order"):
            alone.all_reduce(np.zeros((4, 4)).T[1:])
        with pytest.raises(ValueError, match="writable"):
            frozen = np.zeros(3)
            frozen.flags.writeable = False
            alone.all_reduce(frozen)
        with pytest.raises(ValueError, match="reduction"):
            alone.all_reduce(np.zeros(3), reduction="average")  # type: ignore[arg-type]
    with pytest.raises(muster.CancelledError):
        alone.barrier()
    with pytest.raises(TypeError, match="elastik"):
        muster.Communicator(group, 0, 1, elastik=True)  # type: ignore[call-arg]


def test_blocks_may_be_of_any_size(group: str) -> None:
    program = """
        counts = [1, 2, 3]
        mine = np.full(counts[rank], rank, "i4")
        everybodys = [0, 1, 1, 2, 2, 2]
        assert all.all_gather_v(mine, counts).tolist() == everybodys
        out = np.empty(6, "i4")
        assert all.all_gather_v(mine, counts, out) is out and out.tolist() == everybodys
        gathered = all.gather_v(mine, counts if rank == 1 else None, root=1)
        assert (gathered is None) == (rank != 1)
        if rank == 1: assert gathered.tolist() == everybodys
        first = sum(counts[:rank])
        block = np.empty(counts[rank])
        if rank == 2:
            all.scatter_v(np.arange(6.0), counts, block, root=2)
        else:
            all.scatter_v(None, None, block, root=2)
        assert block.tolist() == list(range(first, first + counts[rank]))
        summed = all.reduce_scatter_v(np.arange(6.0), counts)
        assert summed.tolist() == [3.0 * i for i in range(first, first + counts[rank])]
        # i + 1 elements go to rank i.
        theirs = all.all_to_all_v(np.full(6, rank), counts, [rank + 1] * size)
        assert theirs.tolist() == [i for i in range(size) for _ in range(rank + 1)]
        async def go():
            return await all.iall_gather_v(mine, counts)
        print(asyncio.run(go()).tolist())
        """
    assert run_ranks(group, program) == ["[0, 1, 1, 2, 2, 2]"] * RANKS


def test_counts_that_do_not_fit_are_refused(group: str) -> None:
    with muster.Communicator(group, 0, 1) as alone:
        with pytest.raises(ValueError, match="all_gather"):
            alone.all_gather_v(np.arange(3), counts=[2])
        with pytest.raises(ValueError, match="all_gather"):
            alone.all_gather_v(np.arange(3), counts=[3, 1])
        with pytest.raises(ValueError):
            alone.all_gather_v(np.arange(3), counts=[-3])


def test_functions_reduce_in_the_order_of_the_ranks(group: str) -> None:
    program = """
        last = lambda left, right: right
        for count in (3, 300_000):
            assert (all.all_reduce(np.full(count, rank), reduction=last) == 2).all()
            assert (all.all_reduce(np.full(count, float(rank)), reduction=np.maximum) == 2).all()
            farthest = muster.UserReduction(lambda a, b: np.where(abs(a) > abs(b), a, b), True)
            got = all.reduce(np.full(count, -rank, "f4"), reduction=farthest, root=1)
            assert got is None if rank != 1 else (got == -2).all()
            block = np.empty(count, "i4")
            all.reduce_scatter(np.full(3 * count, rank, "i4"), block, np.add)
            assert (block == 3).all()
        kept = []
        def keeps(left, right):
            kept.append(left)
            return left + right
        all.all_reduce(np.ones(4), reduction=keeps)
        gc.collect()
        print(sum(len(array) for array in kept) > 0 and all.all_reduce(np.ones(1)).tolist())
        """
    assert run_ranks(group, program) == ["[3.0]"] * RANKS


def test_a_function_that_raises_fails_the_operation_everywhere(group: str) -> None:
    program = """
        def fails(left, right):
            if rank == 1: raise KeyError("mine")
            return left
        try:
            all.all_reduce(np.ones(3), reduction=fails)
        except KeyError as error:
            print("own", error.args, error.__traceback__.tb_next is not None)
        except muster.FailedError as error:
            print("rank 1" in str(error))
        try:
            all.all_reduce(np.ones(3), reduction=lambda left, right: left[:1])
        except ValueError as error:
            print("made (1,)" in str(error))
        print(all.all_reduce(np.ones(1)).tolist())
        """
    told = "True\nTrue\n[3.0]"
    assert run_ranks(group, program) == [told, "own ('mine',) True\nTrue\n[3.0]", told]
