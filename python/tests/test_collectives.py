"""Collectives on arrays, between processes."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import PATIENCE

import muster

RANKS = 3


def run_ranks(name: str, program: str) -> list[str]:
    """The program once for each rank, with `all` as its communicator. What each printed."""
    begin = """
        import sys, asyncio, numpy as np, muster
        rank, size = int(sys.argv[2]), int(sys.argv[3])
        all = muster.Communicator(sys.argv[1], rank, size, timeout=30)
        """
    text = textwrap.dedent(begin) + textwrap.dedent(program)
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", text, name, str(rank), str(RANKS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    done = [rank.communicate(timeout=2 * PATIENCE) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * RANKS, done
    return [out.strip() for out, _ in done]


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


def test_communicators_can_be_split_and_used_in_turn(group: str) -> None:
    program = """
        half = all.split(0 if rank < 2 else -1, -rank)
        if rank == 2:
            assert half is None
        else:
            assert (half.rank, half.size) == (1 - rank, 2)
            assert half.all_reduce(np.array([rank])).tolist() == [1]
            half.close()
        again = all.dup()
        print(again.all_reduce(np.array([1])).tolist())
        """
    assert run_ranks(group, program) == ["[3]"] * RANKS


def test_what_differs_is_an_error_everywhere(group: str) -> None:
    program = """
        try:
            all.all_reduce(np.zeros(10 if rank else 11))
        except ValueError:
            print("refused")
        """
    assert run_ranks(group, program) == ["refused"] * RANKS


def test_a_loss_is_told_and_the_others_go_on(group: str) -> None:
    program = """
        import os
        all.barrier()
        if rank == 1:
            os._exit(0)
        try:
            while True:
                all.all_reduce(np.ones(10))
        except ConnectionError:
            pass
        left = all.shrink(30)
        print(left.size, left.all_reduce(np.ones(1)).tolist())
        """
    assert run_ranks(group, program) == ["2 [2.0]", "", "2 [2.0]"]


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


def test_components_make_a_communicator(group: str) -> None:
    with muster.Proxy(group, "worker", "w") as proxy:
        both = muster.Communicator.over(proxy, "one", ["w"], PATIENCE)
        assert both.all_reduce(np.array([4.0])).tolist() == [4.0]
        assert both.member(0) == "w"
        both.close()
