"""Every judge here gives the same answer: brute force, kernel, porcupine, fast checker."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from linearizability.porcupy import PARTITION_LOG, REGISTER, Operations, PythonModel, check
from linearizability.porcupy.fast_log import check_log
from linearizability.porcupy.tests.histories import (
    explained,
    random_log,
    random_register,
    side_by_side,
)
from linearizability.verdict import Validity


def _verdicts(model: str | PythonModel, histories: list[Operations]) -> list[Validity]:
    result = check(model, side_by_side(histories))
    assert len(result.partitions) == len(histories), result.reason
    return [partition.verdict for partition in result.partitions]


def _brute_force(model: PythonModel, histories: list[Operations]) -> list[Validity]:
    return [Validity.VALID if explained(model, h) else Validity.INVALID for h in histories]


def _assert_both_occur(verdicts: list[Validity]) -> None:
    counted = Counter(verdicts)
    assert min(counted[Validity.VALID], counted[Validity.INVALID]) > len(verdicts) / 10, counted


def _small_logs(seed: str, count: int, largest: int) -> list[Operations]:
    rng = Random(seed)
    return [
        random_log(rng, rng.randrange(1, largest + 1), unknown=0.25, strong_reads=True)
        for _ in range(count)
    ]


def _small_registers(seed: str, count: int, largest: int) -> list[Operations]:
    rng = Random(seed)
    return [random_register(rng, rng.randrange(1, largest + 1), unknown=0.2) for _ in range(count)]


def test_the_kernel_agrees_with_brute_force_on_logs() -> None:
    histories = _small_logs("kernel log", 1200, 6)
    expected = _brute_force(PARTITION_LOG, histories)
    _assert_both_occur(expected)
    assert _verdicts(PARTITION_LOG, histories) == expected


def test_the_kernel_agrees_with_brute_force_on_registers() -> None:
    histories = _small_registers("kernel register", 1200, 6)
    expected = _brute_force(REGISTER, histories)
    _assert_both_occur(expected)
    assert _verdicts(REGISTER, histories) == expected


@pytest.mark.needs("porcupine")
def test_porcupine_agrees_with_brute_force_on_logs() -> None:
    histories = _small_logs("porcupine log", 1200, 6)
    assert _verdicts("partition_log", histories) == _brute_force(PARTITION_LOG, histories)


@pytest.mark.needs("porcupine")
def test_porcupine_agrees_with_brute_force_on_registers() -> None:
    histories = _small_registers("porcupine register", 1200, 6)
    assert _verdicts("register", histories) == _brute_force(REGISTER, histories)


@pytest.mark.needs("porcupine")
def test_porcupine_agrees_with_the_kernel_on_larger_histories() -> None:
    logs = _small_logs("larger", 800, 25)
    expected = _verdicts(PARTITION_LOG, logs)
    assert _verdicts("partition_log", logs) == expected
    registers = _small_registers("larger", 800, 25)
    expected = _verdicts(REGISTER, registers)
    assert _verdicts("register", registers) == expected


@pytest.mark.needs("porcupine")
def test_the_fast_checker_agrees_with_porcupine_on_thousands_of_histories() -> None:
    rng = Random("fast")
    histories = [
        random_log(rng, rng.randrange(1, 40), unknown=rng.choice((0, 0.1)), strong_reads=i % 2 == 0)
        for i in range(3000)
    ]
    searched = _verdicts("partition_log", histories)
    fast = [verdict.verdict for verdict in check_log(side_by_side(histories))]
    decided = [pair for pair in zip(fast, searched, strict=True) if pair[0] != Validity.UNKNOWN]
    assert len(decided) > 2250
    _assert_both_occur([verdict for _, verdict in decided])
    assert [pair for pair in decided if pair[0] != pair[1]] == []
