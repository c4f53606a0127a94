"""Registers: writes and reads of the last record, judged by porcupine's model and its twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linearizability import history
from linearizability.opinions import registers
from linearizability.opinions.registers import judge_registers
from linearizability.verdict import Validity

Row = dict[str, Any]


def write(value: int, call: int, ret: int | None, **more: Any) -> Row:
    row = {"f": "send", "type": "ok", "topic": "r", "partition": 0, "value": value}
    return row | {"t_invoke_ns": call, "t_complete_ns": ret} | more


def read(value: int | None, call: int, ret: int, **more: Any) -> Row:
    return write(0, call, ret) | {"f": "read_latest", "value": value} | more


def judged(tmp_path: Path, *rows: Row) -> Any:
    history.write(tmp_path / "history.parquet", history.frame(rows))
    return judge_registers(tmp_path / "history.parquet")


@pytest.fixture(params=[False, True], ids=["in Python", "porcupine"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both searchers; where the executable is not built, the one in Python twice."""
    if not request.param:
        monkeypatch.setattr(registers, "find_executable", lambda: None)


@pytest.mark.usefixtures("either")
def test_what_was_written_last_is_read(tmp_path: Path) -> None:
    opinion = judged(
        tmp_path,
        read(None, 0, 5),
        write(1, 10, 20),
        read(1, 30, 40),
        write(2, 35, 60),
        read(2, 50, 70),
    )
    assert (opinion.validity, opinion.checked) == (Validity.VALID, 5)


@pytest.mark.usefixtures("either")
def test_a_stale_read_is_found_and_named(tmp_path: Path) -> None:
    other = {"partition": 1}
    opinion = judged(
        tmp_path,
        write(7, 0, 5, **other),
        read(7, 6, 9, **other),
        write(1, 10, 20),
        write(2, 30, 40),
        read(1, 50, 60, op_id=99),
    )
    assert opinion.validity is Validity.INVALID
    (anomaly,) = opinion.anomalies
    assert (anomaly.kind, anomaly.scope["partition"]) == ("not-linearizable", 0)
    assert 99 in anomaly.operations


@pytest.mark.usefixtures("either")
def test_a_register_that_goes_back_to_an_old_value_is_found(tmp_path: Path) -> None:
    opinion = judged(tmp_path, write(1, 0, 10), write(2, 20, 30), read(2, 40, 50), read(1, 60, 70))
    assert opinion.validity is Validity.INVALID


@pytest.mark.usefixtures("either")
def test_a_write_of_unknown_outcome_may_come_at_any_time_or_never(tmp_path: Path) -> None:
    opinion = judged(
        tmp_path,
        write(1, 0, 10),
        write(2, 20, 30, type="info"),
        read(1, 40, 50),
        read(2, 60, 70),
        write(3, 80, 90, type="info"),
        write(4, 85, 88, type="fail"),
        read(2, 95, 99),
    )
    assert (opinion.validity, opinion.checked) == (Validity.VALID, 5)


def test_a_history_without_registers_is_not_judged(tmp_path: Path) -> None:
    assert judged(tmp_path, write(1, 0, 10), read(1, 20, 30, type="fail")) is None
