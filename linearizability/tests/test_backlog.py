"""The backlog of readers, on histories that one can follow by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linearizability.hand_written.rows import END, PLACE, RAW, P, Row, S
from linearizability.history import frame, write
from linearizability.measures import backlog as module
from linearizability.measures.backlog import SAMPLES_MAX, Backlog, backlog


def at(second: float) -> Row:
    """Return the times of an operation invoked and answered then."""
    return {"t_invoke_ns": int(second * 10**9), "t_complete_ns": int(second * 10**9)}


def ASSIGN(**more: object) -> Row:
    return PLACE | {"f": "assign", "process": 1} | more


def NOTHING(**more: object) -> Row:
    return {"f": "poll", "process": 1, "isolation": "read_committed"} | more


def found(tmp_path: Path, rows: list[Row]) -> Backlog:
    file = tmp_path / "history.parquet"
    write(file, frame(rows))
    measured = backlog(file)
    assert measured is not None
    return measured


def unseen(measured: Backlog, partition: int = 0) -> list[int]:
    return measured.unseen.filter(partition=partition)["records"].to_list()


def lags(measured: Backlog, consumer: str, partition: int = 0) -> dict[int, float]:
    rows = measured.lag.filter(partition=partition, consumer=consumer)
    return dict(rows.select("t_s", "lag_s").iter_rows())


BEGUN = [ASSIGN(**at(0)), S(1, 0, **at(0.5)), S(2, 1, **at(1.5))]


def test_records_are_unseen_until_a_consumer_is_given_them(tmp_path: Path) -> None:
    measured = found(tmp_path, [*BEGUN, P(1, 0, **at(3.5)), P(2, 1, **at(4.5)), NOTHING(**at(6))])
    assert unseen(measured) == [1, 2, 2, 1, 0, 0, 0]
    # Of record 1, there since 0.5; when it was given, of record 2, there since 1.5.
    assert lags(measured, "process 1") == {0: 0.5, 1: 1.5, 2: 2.5, 3: 2.5, 4: 0, 5: 0, 6: 0}


def test_what_nobody_is_given_stays_unseen_whatever_raw_and_failed_reads_show(
    tmp_path: Path,
) -> None:
    rows = [*BEGUN, RAW(1, 0, **at(2)), P(1, 0, type="fail", **at(3)), NOTHING(**at(4))]
    measured = found(tmp_path, rows)
    assert unseen(measured) == [1, 2, 2, 2, 2]
    assert lags(measured, "process 1")[4] == 3.5


def test_an_open_transaction_keeps_nobody_waiting(tmp_path: Path) -> None:
    rows = [
        ASSIGN(**at(0)),
        S(1, 0, txn=1, **at(0.5)),
        NOTHING(**at(1)),
        END("commit", 1, **at(2.5)),
        NOTHING(**at(4)),
    ]
    measured = found(tmp_path, rows)
    assert unseen(measured) == [0, 0, 1, 1, 1]
    assert lags(measured, "process 1") == {0: 0, 1: 0, 2: 0.5, 3: 1.5, 4: 1.5}


def test_who_is_assigned_something_else_is_not_behind_any_more(tmp_path: Path) -> None:
    rows = [*BEGUN, ASSIGN(partition=1, **at(2.5)), NOTHING(**at(5))]
    measured = found(tmp_path, rows)
    assert list(lags(measured, "process 1")) == [0, 1]
    assert list(lags(measured, "process 1", partition=1)) == [2, 3, 4, 5]


def test_a_group_is_one_consumer_and_final_reads_are_none(tmp_path: Path) -> None:
    member = {"group": "g", "member_id": "m"}
    rows = [
        ASSIGN(**member, **at(0)),
        S(1, 0, **at(0.5)),
        S(2, 1, **at(0.5)),
        P(1, 0, process=2, **member, **at(1.5)),
        NOTHING(**member, **at(3)),
        P(1, 0, process=5, final=True, **at(3.5)),
        P(2, 1, process=5, final=True, **at(4)),
    ]
    measured = found(tmp_path, rows)
    assert measured.lag["consumer"].unique().to_list() == ["group g"]
    assert lags(measured, "group g") == {0: 0.5, 1: 1.5, 2: 2.5}
    assert unseen(measured)[-1] == 0


def test_who_reads_again_is_not_behind_for_that(tmp_path: Path) -> None:
    given = [P(1, 0, **at(2)), P(2, 1, **at(2.1)), P(1, 0, session=1, **at(3.5)), NOTHING(**at(5))]
    assert lags(found(tmp_path, [*BEGUN, *given]), "process 1")[3] == 0


def test_a_long_run_is_looked_at_less_often_and_a_huge_one_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = found(tmp_path, [*BEGUN, NOTHING(**at(3600))])
    assert 100 < measured.unseen.height <= SAMPLES_MAX
    monkeypatch.setattr(module, "ROWS_MAX", 3)
    assert backlog(tmp_path / "history.parquet") is None


def test_a_history_without_records_has_no_backlog(tmp_path: Path) -> None:
    measured = found(tmp_path, [{"f": "nemesis", "process": -1, "detail": "{}"}])
    assert (measured.unseen.height, measured.lag.height) == (0, 0)
