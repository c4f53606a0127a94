"""The workload compaction-transactions: long transactions of one partition each, half aborted."""

from __future__ import annotations

from random import Random

from chaos.values.protocols import Abort, Begin, Commit, Completion, Operation, Outcome, Send
from chaos.workloads import WORKLOADS

OK, UNKNOWN = Completion(Outcome.OK), Completion(Outcome.INFO)


def performed(count: int, completion: Completion = OK) -> list[Operation]:
    operations = WORKLOADS["compaction-transactions"].operations(0, Random(1))
    return [next(operations), *(operations.send(completion) for _ in range(count))]


def test_a_transaction_is_of_one_partition_and_some_last_long() -> None:
    transactions: list[list[Send]] = []
    for operation in performed(5_000):
        if isinstance(operation, Begin):
            transactions.append([])
        elif isinstance(operation, Send):
            transactions[-1].append(operation)
    assert all(len({send.partition for send in sends}) == 1 for sends in transactions[:-1])
    assert max(map(len, transactions)) > 100
    assert {send.partition for sends in transactions for send in sends} == set(range(4))
    assert all(send.keys for sends in transactions for send in sends)


def test_half_of_them_are_aborted() -> None:
    done = performed(5_000)
    ends = [type(each) for each in done if isinstance(each, Commit | Abort)]
    assert 0.3 < ends.count(Abort) / len(ends) < 0.7


def test_what_may_have_failed_is_aborted() -> None:
    operations = WORKLOADS["compaction-transactions"].operations(0, Random(1))
    assert isinstance(next(operations), Begin)
    assert isinstance(operations.send(OK), Send)
    assert isinstance(operations.send(UNKNOWN), Abort)
