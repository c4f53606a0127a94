"""`check` by hand: known answers, limits that end in UNKNOWN, refusals that say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linearizability.porcupy import (
    OK,
    PARTITION_LOG,
    REGISTER,
    UNKNOWN,
    Annotation,
    LogKind,
    Op,
    Operations,
    OperationsBuilder,
    PythonModel,
    RegisterKind,
    check,
    find_executable,
)
from linearizability.porcupy.fast_log import check_log
from linearizability.verdict import Validity

EITHER = [pytest.param("register", marks=pytest.mark.needs("porcupine")), REGISTER]


def _stale_read() -> Operations:
    builder = OperationsBuilder()
    builder.add(0, 10, RegisterKind.WRITE, client=0, a=1, label="write 1")
    builder.add(20, 30, RegisterKind.READ, client=1, c=0, label="read 0")
    return builder.build()


def _hopeless(writes: int) -> Operations:
    """Return a history in which nothing explains the read, and any subset of the unknown swaps must
    be tried before that is known."""
    builder = OperationsBuilder()
    for n in range(writes):
        builder.add(0, None, RegisterKind.WRITE, client=n, a=n + 1, status=UNKNOWN)
    builder.add(10, 20, RegisterKind.READ, client=writes, c=-7)
    return builder.build()


@pytest.mark.parametrize("model", EITHER)
def test_a_stale_read_is_invalid_and_named(model: str | PythonModel) -> None:
    result = check(model, _stale_read())
    assert result.verdict is Validity.INVALID
    (partition,) = result.partitions
    assert (partition.linearization, partition.blocked) == ((0,), (1,))


@pytest.mark.parametrize("model", EITHER)
def test_a_concurrent_read_may_be_before_the_write(model: str | PythonModel) -> None:
    builder = OperationsBuilder()
    builder.add(0, 10, RegisterKind.WRITE, client=0, a=1)
    builder.add(10, 30, RegisterKind.READ, client=1, c=0)  # closed intervals: 10 touches 10
    result = check(model, builder.build())
    assert result.verdict is Validity.VALID
    assert result.reason is None
    assert result.partitions[0].linearization in {(), (1, 0)}


@pytest.mark.parametrize("model", EITHER)
def test_one_broken_key_is_told_from_the_others(model: str | PythonModel) -> None:
    builder = OperationsBuilder()
    for key in range(5):
        builder.add(0, 10, RegisterKind.WRITE, key=key, a=1)
        builder.add(20, 30, RegisterKind.READ, key=key, c=0 if key == 3 else 1)
    result = check(model, builder.build())
    assert result.verdict is Validity.INVALID
    assert [p.key for p in result.partitions if p.verdict is Validity.INVALID] == [3]
    assert result.partitions[3].blocked == (7,)


@pytest.mark.parametrize("model", EITHER)
def test_no_operations_are_unknown_not_valid(model: str | PythonModel) -> None:
    result = check(model, OperationsBuilder().build())
    assert result.verdict is Validity.UNKNOWN
    assert result.reason == "there are no operations"


@pytest.mark.parametrize("model", EITHER)
def test_a_search_out_of_time_is_unknown(model: str | PythonModel) -> None:
    result = check(model, _hopeless(26), timeout_s=0.3, memory_mib=4096)
    assert result.verdict is Validity.UNKNOWN
    assert "time limit" in (result.reason or "")


@pytest.mark.parametrize("model", EITHER)
def test_a_search_out_of_memory_is_unknown(model: str | PythonModel) -> None:
    # A Go program of any size takes 10 MiB; configurations are slow to make in Python.
    memory_mib = 24 if isinstance(model, str) else 4
    result = check(model, _hopeless(26), timeout_s=60, memory_mib=memory_mib)
    assert result.verdict is Validity.UNKNOWN
    assert "memory limit" in (result.reason or "")


@pytest.mark.needs("porcupine")
def test_a_request_larger_than_the_memory_limit_is_unknown() -> None:
    result = check("register", _wide(10_000), memory_mib=1)
    assert result.verdict is Validity.UNKNOWN
    assert "memory limit" in (result.reason or "")


def _wide(count: int) -> Operations:
    zero = np.zeros(count, dtype=np.int64)
    return Operations(zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero[:0])


@pytest.mark.needs("porcupine")
def test_partitions_judged_before_a_search_ran_out_keep_their_verdict() -> None:
    builder = OperationsBuilder()
    builder.add(0, 10, RegisterKind.WRITE, key=0, a=1)
    builder.add(20, 30, RegisterKind.READ, key=1, c=5)
    for n in range(26):
        builder.add(0, None, RegisterKind.WRITE, client=n, key=2, a=n + 1, status=UNKNOWN)
    builder.add(10, 20, RegisterKind.READ, client=26, key=2, c=-7)
    result = check("register", builder.build(), memory_mib=24)
    verdicts = [partition.verdict for partition in result.partitions]
    assert verdicts == [Validity.VALID, Validity.INVALID]
    assert result.verdict is Validity.INVALID


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("exit 0", "without an answer"),
        ("kill -9 $$", "killed by SIGKILL"),
        ("echo fatal error: out of memory >&2; exit 2", "fatal error: out of memory"),
        ("echo hello", "is not porcupine-check"),
        ("echo 17", "is not porcupine-check"),
        ("sleep 60", "did not end within 0.5 s"),
    ],
)
def test_a_search_that_fails_is_unknown(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = tmp_path / "porcupine-check"
    executable.write_text(f"#!/bin/sh\n{program.replace('sleep', 'exec sleep')}\n")
    executable.chmod(0o755)
    monkeypatch.setenv("TOUCHSTONE_PORCUPINE", str(executable))
    monkeypatch.setattr("linearizability.porcupy.executable.GRACE_S", 0.0)
    result = check("register", _stale_read(), timeout_s=0.5 if "sleep" in program else 20)
    assert result.verdict is Validity.UNKNOWN
    assert reason in (result.reason or "")


def test_a_missing_executable_is_unknown_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOUCHSTONE_PORCUPINE", "nowhere/porcupine-check")
    assert find_executable() is None
    result = check("register", _stale_read())
    assert result.verdict is Validity.UNKNOWN
    assert "make setup" in (result.reason or "")


@pytest.mark.needs("porcupine")
def test_a_model_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ValueError, match=r"no model .queue.; there are: partition_log, register"):
        check("queue", _stale_read())


@pytest.mark.needs("porcupine")
def test_the_drawing_shows_the_failing_operations_and_the_faults(tmp_path: Path) -> None:
    page = tmp_path / "drawings" / "stale.html"
    band = Annotation("nemesis", 12, 18, "kill broker 1")
    result = check("register", _stale_read(), html=page, annotations=[band])
    assert result.html == page
    text = page.read_text()
    for shown in ("write 1", "read 0", "kill broker 1"):
        assert shown in text
    drawn, script = text.index("render(data)\n"), text.index('querySelector("#jump-link").dispatch')
    assert drawn < script < text.index("</body>")  # it goes to the error once there is one


@pytest.mark.needs("porcupine")
def test_nothing_is_drawn_of_a_valid_history(tmp_path: Path) -> None:
    builder = OperationsBuilder()
    builder.add(0, 10, RegisterKind.WRITE, a=1)
    result = check("register", builder.build(), html=tmp_path / "valid.html")
    assert result.verdict is Validity.VALID
    assert result.html is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("porcupine")
def test_one_offset_with_two_values_is_drawn_too(tmp_path: Path) -> None:
    builder = OperationsBuilder()
    builder.add(0, 10, LogKind.APPEND, client=0, c=0, vals=[1], label="one")
    builder.add(0, 10, LogKind.APPEND, client=1, c=0, vals=[2], label="two")
    operations = builder.build()
    result = check("partition_log", operations, html=tmp_path / "log.html")
    assert "offset 0 holds both 1 and 2" in (result.reason or "")
    assert result.html is not None and "two" in result.html.read_text()
    (fast,) = check_log(operations)
    assert (fast.verdict, fast.offset) == (Validity.INVALID, 0)


@pytest.mark.needs("porcupine")
def test_reads_in_great_numbers_at_once_are_searched_and_explained_without_them() -> None:
    builder = OperationsBuilder()
    builder.add(0, 10, LogKind.APPEND, c=0, vals=[1])
    builder.add(0, 10, LogKind.APPEND, c=2, vals=[2])
    for _ in range(40):
        builder.add(0, 10, LogKind.READ, a=0, vals=[1])
    operations = builder.build()
    assert [v.verdict for v in check_log(operations)] == [Validity.INVALID]
    result = check("partition_log", operations, timeout_s=120)
    assert result.verdict is Validity.INVALID
    assert result.partitions[0].linearization == (0,)


def test_the_fast_checker_names_the_offset_and_the_operations() -> None:
    builder = OperationsBuilder()
    for n in range(100):
        late = 500 if n == 40 else 0
        builder.add(n * 10 + late, n * 10 + 15 + late, LogKind.APPEND, c=n, vals=[n])
    (verdict,) = check_log(builder.build())
    assert verdict.verdict is Validity.INVALID
    assert verdict.offset == 40
    assert verdict.operations == (40, 41)


def test_the_fast_checker_leaves_holes_to_a_search() -> None:
    builder = OperationsBuilder()
    builder.add(0, None, LogKind.APPEND, status=UNKNOWN, vals=[1])
    builder.add(0, 10, LogKind.APPEND, c=1, vals=[2])
    operations = builder.build()
    assert [v.verdict for v in check_log(operations)] == [Validity.UNKNOWN]
    assert check(PARTITION_LOG, operations).verdict is Validity.VALID


def test_a_model_of_ones_own_runs_on_the_kernel() -> None:
    """A lock: 0 free, else the holder. kind 0 acquire, 1 release, a the client."""

    def step(holder: int, op: Op) -> int | None:
        if op.kind == 0:
            return op.a if holder == 0 else None
        return 0 if holder == op.a else None

    lock = PythonModel(0, step)
    builder = OperationsBuilder()
    builder.add(0, 10, 0, a=1)
    builder.add(5, 30, 0, a=2)
    assert check(lock, builder.build()).verdict is Validity.INVALID
    builder.add(12, 14, 1, a=1)
    assert check(lock, builder.build()).verdict is Validity.VALID


def test_a_mistake_of_the_caller_is_refused() -> None:
    builder = OperationsBuilder()
    builder.add(10, 9, 0, status=OK)
    with pytest.raises(ValueError, match="number 0 returns before it was called"):
        builder.build()
    with pytest.raises(ValueError, match="must be positive"):
        check(REGISTER, _stale_read(), timeout_s=0)
    with pytest.raises(ValueError, match="only the executable draws"):
        check(REGISTER, _stale_read(), html=Path("x.html"))
