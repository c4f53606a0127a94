"""The workload transform: what belongs to one transaction, and how each ends."""

from __future__ import annotations

from random import Random

import pytest

from chaos.values.operations import AddOffsets, CommitInTransaction, Membership
from chaos.values.protocols import (
    Abort,
    Begin,
    Commit,
    Completion,
    Crash,
    Isolation,
    Leave,
    Operation,
    Outcome,
    Poll,
    Record,
    Send,
    Subscribe,
)
from chaos.workloads.transform import Transform

WORKER = 2
OK = Completion(Outcome.OK)
READ = Completion(Outcome.OK, (Record("i", 0, 1, 0), Record("i", 0, 2, 1)))
UNKNOWN = Completion(Outcome.INFO)
BROKEN = Completion(Outcome.INFO, broken=True)
CRASHED = Completion(Outcome.OK, broken=True)


class Steady(Transform):
    """Every transaction commits, and no worker crashes."""

    abort_share = crash_share = 0.0


class Crashing(Transform):
    """Every worker ends by a crash."""

    abort_share, crash_share = 0.0, 1.0


def drive(workload: Transform, completions: list[Completion]) -> list[Operation]:
    operations = workload.operations(WORKER, Random(7))
    return [next(operations), *(operations.send(completion) for completion in completions)]


def test_inputs_outputs_and_offsets_are_one_transaction() -> None:
    operations = drive(Steady(), [OK, OK, READ, OK, OK])
    kinds = [type(operation) for operation in operations]
    assert kinds == [Subscribe, Begin, Poll, Send, Commit, Begin]
    sent = operations[3]
    assert isinstance(sent, Send) and sent.topic == Transform.outputs
    assert len(sent.values) == len(READ.records)


@pytest.mark.parametrize("failed", [OK, Completion(Outcome.FAIL, (), "_TRANSPORT")])
def test_where_nothing_was_read_nothing_is_sent(failed: Completion) -> None:
    operations = drive(Steady(), [OK, OK, failed, OK])
    assert [type(o) for o in operations[2:]] == [Poll, Abort, Begin]


def test_a_send_or_a_commit_without_a_clear_answer_is_aborted() -> None:
    assert isinstance(drive(Steady(), [OK, OK, READ, UNKNOWN])[-1], Abort)
    assert isinstance(drive(Steady(), [OK, OK, READ, OK, UNKNOWN])[-1], Abort)


def test_a_broken_client_is_a_new_member() -> None:
    assert isinstance(drive(Steady(), [OK, OK, READ, OK, BROKEN])[-1], Subscribe)
    assert isinstance(drive(Steady(), [OK, OK, BROKEN])[-1], Subscribe)


@pytest.mark.parametrize(("workload", "end"), [(Steady(), Leave), (Crashing(), Crash)])
def test_a_worker_ends_by_leaving_or_in_the_middle_of_a_transaction(
    workload: Transform, end: type[Operation]
) -> None:
    operations = workload.operations(WORKER, Random(7))
    before, operation = next(operations), operations.send(OK)
    for _ in range(1_000):
        if isinstance(operation, end):
            break
        before, operation = operation, operations.send(READ if isinstance(operation, Poll) else OK)
    assert isinstance(operation, end)
    assert isinstance(before, Send if end is Crash else Commit)
    if end is Leave:
        assert isinstance(operations.send(OK), Subscribe)


def test_after_a_crash_a_new_client_begins_again_whatever_the_transaction_was_to_end_in() -> None:
    class CrashingInAborted(Crashing):
        abort_share = 1.0

    for workload in (Crashing(), CrashingInAborted()):
        operations = workload.operations(WORKER, Random(7))
        operation, crashes = next(operations), 0
        for _ in range(2_000):
            is_crash = isinstance(operation, Crash)
            completion = READ if isinstance(operation, Poll) else CRASHED if is_crash else OK
            operation = operations.send(completion)
            if is_crash:
                crashes += 1
                assert isinstance(operation, Subscribe)
        assert crashes > 2


def test_workers_are_members_that_read_what_is_committed() -> None:
    settings = Transform().settings(WORKER)
    assert settings.transactional and settings.isolation is Isolation.READ_COMMITTED
    assert settings.group is not None and not settings.group.auto_commit
    assert Transform().settings(0).group is None


def test_an_aborted_transaction_has_its_offsets_in_it_now_and_then() -> None:
    class Aborting(Transform):
        abort_share = 1.0

    operations = Aborting().operations(WORKER, Random(7))
    operation, before_abort = next(operations), []
    for _ in range(300):
        last, operation = operation, operations.send(READ if isinstance(operation, Poll) else OK)
        if isinstance(operation, Abort):
            before_abort.append(type(last))
    assert {AddOffsets, Send} <= set(before_abort)


def test_a_worker_commits_once_more_as_it_was_in_its_last_life() -> None:
    """The worker repeats only its last commit, and only if no operation of unknown outcome followed
    it."""
    row = {
        "f": "send_offsets",
        "group": "g",
        "topic": "i",
        "partition": 1,
        "offset": 5,
        "member_id": "m-1",
        "generation": 3,
    }
    committed = Completion(Outcome.OK, more_rows=(row,))
    zombie = CommitInTransaction("g", "i", 1, 5, Membership("m-1", 3), "transform-zombie-2")
    for end, expected in ((committed, {zombie}), (UNKNOWN, set())):
        operations = Steady().operations(WORKER, Random(7))
        operation, lives, found = next(operations), 0, set()
        for _ in range(3_000):
            lives += isinstance(operation, Subscribe)
            if isinstance(operation, CommitInTransaction):
                assert lives > 1
                found.add(operation)
            completion = READ if isinstance(operation, Poll) else OK
            operation = operations.send(end if isinstance(operation, Commit) else completion)
        assert found == expected
