"""The workload transform: what belongs to one transaction, and how each ends."""

from __future__ import annotations

from random import Random

import pytest

from chaos.protocols import (
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


class Steady(Transform):
    """Nothing is aborted and nobody crashes."""

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
    after = [operations.send(OK), operations.send(OK)]
    assert [type(o) for o in after][-1] is (Subscribe if end is Crash else Begin)


def test_workers_are_members_that_read_what_is_committed() -> None:
    settings = Transform().settings(WORKER)
    assert settings.transactional and settings.isolation is Isolation.READ_COMMITTED
    assert settings.group is not None and not settings.group.auto_commit
    assert Transform().settings(0).group is None
