"""The promises of all workloads, and the answers of `transactions` to each end of an operation."""

from __future__ import annotations

import inspect
import os
import pkgutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from random import Random

import pytest

import chaos.workloads
from chaos.values.operations import Idle, LeaveOpen, Seek, SeekToTime
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    Commit,
    Completion,
    Crash,
    Isolation,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    Record,
    Send,
)
from chaos.workloads import WORKLOADS
from chaos.workloads.transactions import OFTEN_LATE, Transactions

OK = Completion(Outcome.OK)
FAILED = Completion(Outcome.FAIL)
UNKNOWN = Completion(Outcome.INFO)
BROKEN = Completion(Outcome.INFO, broken=True)
PRINT_OPERATIONS = """
from random import Random
from chaos.values.protocols import Completion, Outcome
from chaos.workloads import WORKLOADS
for name, workload in WORKLOADS.items():
    for process in range(workload.processes):
        operations = workload.operations(process, Random(f"7:workload:{process}"))
        print(name, process, next(operations))
        for _ in range(100):
            print(operations.send(Completion(Outcome.OK)))
"""


def drive(process: int, completions: Iterable[Completion], name: str = "") -> list[Operation]:
    """Run the operations of a process, which end as given."""
    workload = WORKLOADS[name or "transactions"]
    operations = workload.operations(process, Random(f"7:workload:{process}"))
    return [next(operations), *(operations.send(completion) for completion in completions)]


def kinds(operations: list[Operation]) -> list[str]:
    return [type(operation).__name__ for operation in operations]


def test_every_workload_of_the_folder_is_in_the_table() -> None:
    found = set()
    for module in pkgutil.iter_modules(chaos.workloads.__path__, "chaos.workloads."):
        if not module.ispkg:
            members = vars(import_module(module.name)).values()
            found |= {m for m in members if inspect.isclass(m) and hasattr(m, "final_operations")}
    # Without what several share.
    found = {m for m in found if not m.__name__.startswith("_") and not inspect.isabstract(m)}
    assert found == {type(workload) for workload in WORKLOADS.values()}


@pytest.mark.parametrize("name", WORKLOADS)
def test_values_are_unique_in_the_run_and_partitions_exist(name: str) -> None:
    workload = WORKLOADS[name]
    spec = {topic.name: topic.partitions for topic in workload.topics()}
    values: Counter[int] = Counter()
    for process in range(workload.processes):
        for operation in drive(process, [OK] * 500, name):
            if isinstance(operation, Send):
                values.update(operation.values)
                assert 0 <= operation.partition < spec[operation.topic]
    assert len(values) > 500 or name == "register"  # which reads before it writes
    assert max(values.values()) == 1


@pytest.mark.parametrize("name", WORKLOADS)
def test_at_the_end_every_partition_is_read_raw_and_by_a_consumer(name: str) -> None:
    workload = WORKLOADS[name]
    everything = {(t.name, p) for t in workload.topics() for p in range(t.partitions)}
    reads = [o for _, o in workload.final_operations() if isinstance(o, ReadAll)]
    for raw in (True, False):
        assert {each for read in reads if read.raw is raw for each in read.partitions} == everything
    assert reads == sorted(reads, key=lambda read: not read.raw)


def test_transactional_readers_are_read_committed_and_raw_reads_are_not() -> None:
    workload = WORKLOADS["transactions"]
    assert workload.settings(7).isolation is Isolation.READ_COMMITTED
    isolations = [o.isolation for _, o in workload.final_operations() if isinstance(o, ReadAll)]
    assert isolations == [Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED]


def test_about_one_transaction_in_five_is_aborted_and_all_span_partitions() -> None:
    ends: Counter[type[Operation]] = Counter()
    partitions: set[int] = set()
    for operation in drive(0, [OK] * 4_000):
        if isinstance(operation, Send) and not isinstance(operation, LeaveOpen):
            assert operation.partition not in partitions or operation.timestamps
            partitions.add(operation.partition)
        elif isinstance(operation, Commit | Abort | Crash):
            ends[type(operation)] += 1
            assert len(partitions) >= 2
            partitions = set()
    assert 0.15 < ends[Abort] / sum(ends.values()) < 0.25
    assert 0.02 < ends[Crash] / sum(ends.values()) < 0.08


def test_some_writers_soon_ask_for_a_commit_too_late() -> None:
    for process in range(OFTEN_LATE):
        operations = drive(process, [OK] * 150)
        idle = [at for at, operation in enumerate(operations) if isinstance(operation, Idle)]
        assert any(isinstance(operations[at + 1], Commit) for at in idle)
        longest_s = max(operations[at].seconds for at in idle)  # type: ignore[attr-defined]
        assert longest_s * 1_000 > Transactions().settings(process).transaction_timeout_ms


def test_a_commit_is_asked_for_after_a_send_that_brokers_refuse() -> None:
    operations = WORKLOADS["transactions"].operations(0, Random("7:workload:0"))
    operation, ends = next(operations), list[type[Operation]]()
    for _ in range(2_000):
        is_refused = isinstance(operation, Send) and bool(operation.timestamps)
        is_asked = bool(ends) and ends[-1] is Commit
        operation = operations.send(FAILED if is_refused or is_asked else OK)
        if is_refused or is_asked:
            ends.append(type(operation))
    assert len(ends) > 4 and ends[::2] == [Commit] * len(ends[::2])
    assert set(ends[1::2]) == {Abort}


def test_readers_seek_to_what_they_have_read_and_to_its_time() -> None:
    """Given records, a reader of `seeks` goes to one of them, or just behind it, or to its time."""
    workload = WORKLOADS["seeks"]
    operations = workload.operations(workload.processes - 1, Random("a seed"))
    operation, offset, sought = next(operations), 0, Counter[type[Operation]]()
    for _ in range(300):
        completion = OK
        if isinstance(operation, Poll):
            record = Record("seeks", 1, 7, offset, extra={"timestamp_ms": 1_000 * offset})
            completion, offset = Completion(Outcome.OK, [record]), offset + 1
        elif isinstance(operation, Seek):
            assert (operation.partition, operation.offset <= offset) == (1, True)
        elif isinstance(operation, SeekToTime):
            assert abs(operation.timestamp_ms - round(operation.timestamp_ms, -3)) <= 1
        sought[type(operation)] += 1
        operation = operations.send(completion)
    assert sought[Seek] > 10 and sought[SeekToTime] > 10


def test_a_transaction_that_does_not_open_is_not_sent_to() -> None:
    assert kinds(drive(0, [FAILED, FAILED])) == ["Begin", "Begin", "Begin"]


@pytest.mark.parametrize("ending", [FAILED, UNKNOWN])
def test_a_transaction_with_a_send_that_is_not_acknowledged_is_aborted(ending: Completion) -> None:
    assert kinds(drive(0, [OK, ending, OK])) == ["Begin", "Send", "Abort", "Begin"]


def test_a_broken_client_is_not_asked_to_abort() -> None:
    assert kinds(drive(0, [OK, BROKEN])) == ["Begin", "Send", "Begin"]


@pytest.mark.parametrize(("ending", "then"), [(UNKNOWN, Abort), (BROKEN, Begin), (OK, Begin)])
def test_a_commit_without_a_clear_answer_is_aborted_where_the_client_can(
    ending: Completion, then: type[Operation]
) -> None:
    operations = Transactions().operations(0, Random("a seed"))
    operation = next(operations)
    while not isinstance(operation, Commit):
        operation = operations.send(OK)
    assert isinstance(operations.send(ending), then)


@pytest.mark.parametrize("ending", [FAILED, BROKEN])
def test_a_reader_starts_a_new_session_after_a_failed_poll(ending: Completion) -> None:
    operations = drive(7, [OK, OK, ending, OK])
    assert kinds(operations) == ["Assign", "Poll", "Poll", "Assign", "Poll"]


def test_readers_take_all_partitions_in_the_long_run() -> None:
    assigned: set[tuple[str, int]] = set()
    for operation in drive(7, [OK] * 5_000):
        assert isinstance(operation, Assign | Poll)
        if isinstance(operation, Assign):
            assigned.update(operation.partitions)
    assert assigned == {("transactions", partition) for partition in range(8)}


def test_one_seed_gives_the_same_operations_in_two_processes() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PRINT_OPERATIONS],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) > 1_000
