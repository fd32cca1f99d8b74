"""Communicators that come from others, lose members, take in new ones, and end."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest
from conftest import PATIENCE
from ranks import RANKS, run_each, run_ranks

import muster


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


def test_components_make_a_communicator(group: str) -> None:
    with muster.Proxy(group, "worker", "w") as proxy:
        one = muster.Communicator.over(proxy, "one", ["w"], PATIENCE)
        two = muster.Communicator.over_type(proxy, "two", "worker", 1, PATIENCE, patience=2.5)
        for each in (one, two):
            assert each.all_reduce(np.array([4.0])).tolist() == [4.0]
            assert each.member(0) == "w"
            each.close()


def test_an_array_is_shared_where_it_lies(group: str) -> None:
    program = """
        def is_in_shared_memory(array):
            at = array.__array_interface__["data"][0]
            for line in open("/proc/self/maps"):
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                if begin <= at < end:
                    return line.split()[1][3] == "s"
        weights = None
        if rank == 1:
            weights = muster.empty((100, 1000), "f4")
            weights[:] = 7
        got = all.share(weights, root=1)
        assert got.shape == (100, 1000) and got.dtype == np.float32 and (got == 7).all()
        assert is_in_shared_memory(got) and not got.flags.writeable
        if rank == 1: assert not weights.flags.writeable
        odd = np.array([("a", rank)], [("name", "U3"), ("number", "<i4")])
        assert all.share(odd if rank == 2 else None, 2)["number"].tolist() == [2]
        assert all.share(np.empty((0, 4))).shape == (0, 4)
        plain = np.arange(100_000)
        copied = all.share(plain)
        plain[0] = 5  # Not what was shared.
        assert all.barrier() is None and copied[0] == 0 and copied[-1] == 99_999
        everybodys = all.all_share(np.full(1000 * (rank + 1), rank))
        print([(len(array), int(array[-1])) for array in everybodys])
        """
    said = "[(1000, 0), (2000, 1), (3000, 2)]"
    assert run_ranks(group, program) == [said] * RANKS


def test_what_cannot_be_shared_is_refused_on_every_rank(group: str) -> None:
    program = """
        from numpy._core._rational_tests import rational  # Of another package's, as it were.
        wrong = [
            np.ma.masked_array([1.0, 2.0], [True, False]),
            np.array([{}, None]),
            [1, 2],
            np.zeros(1, [("a" * 2000, "<i4")]),
            np.zeros(2, rational),
            None,
        ]
        for array in wrong:
            for share in (lambda: all.share(array if rank == 1 else None, root=1),
                          lambda: all.all_share(array if rank == 1 else np.ones(2))):
                try:
                    share()
                except muster.InvalidError as raised:
                    assert "rank 1" in str(raised), raised
                else:
                    assert False, array
        for root in (-1, 3):
            try:
                all.share(np.ones(2), root)
            except muster.InvalidError as raised:
                assert "there is no rank" in str(raised)
            else:
                assert False, root
        print(all.share(np.array([3, 4])).tolist())
        """
    assert run_ranks(group, program) == ["[3, 4]"] * RANKS


REFUSED = {
    "a dtype": "here.all_reduce(np.ones(3, complex))",
    "no array": "here.all_reduce([1, 2, 3])",
    "no array to gather": "here.all_gather([1, 2, 3])",
    "the order": "here.all_reduce(np.ones(6)[::2])",
    "a result that is read-only": "here.all_reduce(np.ones(3), np.broadcast_to(1.0, 3))",
    "a reduction": "here.all_reduce(np.ones(3), reduction='median')",
    "a root": "here.broadcast(np.ones(3), root=-1)",
    "a root of what is shared": "here.share(np.ones(3), root='x')",
    "counts": "here.all_gather_v(np.ones(3), ['x'])",
    "a colour": "here.split('red')",
    "a key": "here.split(0, 1 << 40)",
}


def test_what_one_rank_cannot_call_is_told_to_the_others(group: str) -> None:
    program = f"""
        for what, call in {REFUSED!r}.items():
            here = all.dup()
            try:
                eval(call) if rank == 1 else here.all_reduce(np.ones(3), timeout={PATIENCE})
            except (TypeError, ValueError, AttributeError, NotImplementedError) as raised:
                is_told = "rank 1" in str(raised) and "refused" in str(raised)
                assert is_told == (rank != 1), (what, raised)
            else:
                assert False, what
            here.close()
        print(all.all_reduce(np.ones(1)).tolist())
        """
    assert run_ranks(group, program) == [f"[{RANKS}.0]"] * RANKS


def test_what_no_rank_can_call_is_over_with_that(group: str) -> None:
    program = """
        for i in range(20):
            try:
                all.all_reduce(np.ones(3, complex))
            except NotImplementedError:
                pass
            assert all.all_reduce(np.ones(1)).tolist() == [3.0]
        print("fine")
        """
    assert run_ranks(group, program) == ["fine"] * RANKS


def test_a_loss_is_told_and_the_others_go_on(group: str) -> None:
    program = """
        all.barrier()
        if rank == 1:
            os._exit(0)
        try:
            while True:
                all.all_reduce(np.ones(10))
        except ConnectionError:
            pass
        while all.lost != [1]:
            pass  # It may have been told of by another, and be noticed here in a moment.
        left = all.shrink(30)
        print(left.size, left.all_reduce(np.ones(1)).tolist())
        """
    assert run_ranks(group, program) == ["2 [2.0]", "", "2 [2.0]"]


def test_what_was_interrupted_is_done_again_over_the_survivors(group: str) -> None:
    program = """
        all.barrier()
        if rank == 1:
            os._exit(0)
        for call in (lambda: all.all_reduce(np.full(50_000, rank + 1.0)), all.barrier):
            try:
                call()
            except ConnectionError:
                gc.collect()  # The array is nobody's now, but the operation's.
        left = all.shrink(30)
        assert left.completed_before == 1
        again = left.repeat(30)
        assert again.shape == (50_000,) and (again == 4).all()
        try:
            left.repeat(30)
        except ValueError:
            print(left.completed)
        """
    assert run_ranks(group, program, keep_input=True) == ["1", "", "1"]


def test_what_was_refused_is_not_what_is_done_again(group: str) -> None:
    program = """
        for _ in range(5):
            try:
                all.all_reduce(np.ones(30_000), np.zeros(20_000))
            except ValueError:
                gc.collect()
            else:
                assert False
        all.barrier()
        if rank == 1:
            os._exit(0)
        try:
            all.all_reduce(np.full(50_000, rank + 1.0))
        except ConnectionError:
            gc.collect()
        again = all.shrink(30).repeat(30)
        print(again.shape, (again == 4).all())
        """
    assert run_ranks(group, program, keep_input=True) == ["(50000,) True", "", "(50000,) True"]


def test_what_was_called_again_instead_is_not_what_is_repeated_later(group: str) -> None:
    program = """
        def interrupted(over, *calls):
            for call in calls:
                try:
                    call(over)
                except ConnectionError:
                    gc.collect()
        all.barrier()
        if rank == 1:
            os._exit(0)
        interrupted(all, lambda over: over.all_reduce(np.full(10, 1.0)))
        two = all.shrink(30)
        two.all_reduce(np.full(10, 1.0))
        two.barrier()
        if rank == 2:
            os._exit(0)
        interrupted(two, lambda over: over.all_reduce(np.full(50_000, 7.0)))
        again = two.shrink(30).repeat(30)
        print(again.shape, (again == 7).all())
        """
    assert run_ranks(group, program, keep_input=True) == ["(50000,) True", "", ""]


def test_elastic_operations_go_on_and_tell_who_is_in(group: str) -> None:
    program = """
        operation = all.iall_reduce(np.ones(10))
        assert operation.result(30)[0] == 3 and operation.contributors in (None, [0, 1, 2])
        if rank == 1:
            os._exit(0)
        while True:
            operation = all.iall_reduce(np.full(10, rank + 1.0))
            result = operation.result(30)
            if operation.contributors != [0, 1, 2]:
                print(operation.contributors, result[0])
                break
        """
    assert run_ranks(group, program, elastic=True) == ["[0, 2] 4.0", "", "[0, 2] 4.0"]


def test_newcomers_are_taken_in(group: str) -> None:
    program = """
        gate = muster.Communicator(name + "-gate", rank, size, timeout=30)
        if rank < 2:
            pair = muster.Communicator(name, rank, 2, timeout=30)
            gate.barrier()
            all = pair.grow(3, 30)
        else:
            gate.barrier()  # The others have met without this one.
            all = muster.Communicator(name, 2, 3, timeout=30)
        print(all.rank, all.size, all.all_reduce(np.array([rank])).tolist())
        """
    assert run_each(group, program) == [f"{rank} 3 [3]" for rank in range(RANKS)]


def test_who_is_waited_for_can_be_asked_meanwhile(group: str) -> None:
    program = """
        if rank == 0:
            operation = all.ibarrier()
            while all.waiting_for != [1, 2]:
                assert not operation.done()
            for other in (1, 2):
                all.send(np.zeros(1), other)
            operation.result(30)
            print(all.waiting_for, all.completed)
        else:
            all.receive(np.empty(1), 0, timeout=30)
            all.barrier()
        """
    assert run_ranks(group, program) == ["[] 1", "", ""]


def test_ctrl_c_ends_what_waits_and_the_operation_goes_on(group: str) -> None:
    program = """
        import signal
        calls = [
            (lambda: all.barrier(), lambda: all.barrier()),
            (lambda: all.all_reduce(np.ones(1)), lambda: all.all_reduce(np.ones(1))),
            (lambda: all.split(0), lambda: all.barrier()),
            (lambda: all.share(np.ones(3)), lambda: all.all_gather(np.zeros(1024, "u1"))),
            (lambda: all.receive(np.empty(1), 1), lambda: None),
        ]
        def interrupt(call):
            while call is not calls[-1] and all.waiting_for == []:
                pass  # It has not begun.
            os.kill(os.getpid(), signal.SIGINT)
        for both in calls:
            call, of_others = both
            if rank == 0:
                try:
                    threading.Timer(0.1, interrupt, (both,)).start()
                    call()
                except KeyboardInterrupt:
                    print("interrupted")
                for other in (1, 2):
                    all.send(np.zeros(1), other)
            else:
                all.receive(np.empty(1), 0, timeout=30)
                of_others()
            assert all.all_reduce(np.ones(1)) == [3]
        """
    assert run_ranks(group, program)[0].splitlines() == ["interrupted"] * 5


def test_a_communicator_may_be_closed_while_others_are_inside(group: str) -> None:
    program = """
        def wait(call):
            try:
                call()
            except (muster.CancelledError, ConnectionError) as error:
                ended.append(type(error).__name__)
        ended = []
        apart = all.dup()
        if rank == 0:
            calls = [lambda: apart.receive(np.empty(1), 1), lambda: apart.barrier()]
            calls += [lambda: apart.all_reduce(np.ones(9), reduction=np.add)]
            threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
            for thread in threads: thread.start()
            while apart.waiting_for == []: pass
            apart.close()
            for thread in threads: thread.join()
            print(ended)
        all.barrier()
        """
    assert run_ranks(group, program)[0] == str(["CancelledError"] * 3)


def test_a_forked_child_leaves_its_parents_communicator_alone(group: str) -> None:
    with muster.Communicator(group, 0, 1) as alone:
        operation = alone.iall_reduce(np.ones(3))
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                with pytest.raises(muster.InvalidError):
                    alone.barrier()
                alone.close()  # Not the child's to close.
                del alone, operation
                gc.collect()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert operation.result(PATIENCE).tolist() == [1, 1, 1]
        assert alone.all_reduce(np.ones(1)).tolist() == [1]


def test_the_interpreter_ends_with_operations_under_way(group: str) -> None:
    program = """
        kept = [all.ibarrier() if rank == 0 else None]
        if rank == 0:
            kept += [all.iall_reduce(np.ones(9), reduction=lambda left, right: left + right)]
            kept += [all.iall_gather(np.ones(100_000))]
            threading.Thread(target=all.receive, args=(np.empty(1), 1), daemon=True).start()
        print("over")
        """
    assert run_ranks(group, program) == ["over"] * RANKS
