"""Both engines of polars say the same of a history; its size chooses between them."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import polars as pl
import pytest

from linearizability import history, plans
from linearizability.judging import check, check_frame
from linearizability.tests.planted import write_planted


@pytest.mark.nightly
def test_a_short_history_is_judged_as_a_long_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "history.parquet"
    write_planted(file)
    short = check(file, engine="local")
    monkeypatch.setattr(plans, "SHORT_ROWS", 0)
    assert check(file, engine="local") == short
    assert short.anomalies


def test_what_one_thread_judges_does_not_choose_the_engine_of_another() -> None:
    seen: list[str] = []
    with plans.for_rows(1):
        other = Thread(target=lambda: seen.append(plans.engine()))
        other.start()
        other.join()
        assert (plans.engine(), seen) == ("in-memory", ["auto"])
    assert plans.engine() == "auto"


def test_a_history_in_pieces_is_judged_as_a_whole_one_is(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write_planted(file)
    events = pl.read_parquet(file)
    pieces = [events[start : start + 500] for start in range(0, events.height, 500)]
    assert check_frame(pl.concat(pieces, rechunk=False)) == check_frame(events.rechunk())


def test_what_one_engine_panics_at_is_done_by_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    collect = pl.LazyFrame.collect

    def panics(plan: pl.LazyFrame, *, engine: str) -> pl.DataFrame:
        if engine == "in-memory":
            raise pl.exceptions.PanicException("assertion failed")
        return collect(plan)

    monkeypatch.setattr(pl.LazyFrame, "collect", panics)
    with plans.for_rows(1):
        assert plans.collect(pl.LazyFrame({"n": [1]})).item() == 1


def test_rules_share_what_one_of_them_has_found_in_a_frame() -> None:
    called: list[int] = []

    def rows(frame: pl.LazyFrame) -> int:
        called.append(frame.collect().height)
        return called[-1]

    one, other = pl.LazyFrame({"n": [1]}), pl.LazyFrame({"n": [1, 2]})
    with plans.sharing():
        with plans.sharing():
            assert [plans.once(rows, one), plans.once(rows, other)] == [1, 2]
        assert [plans.once(rows, one), plans.once(rows, other)] == [1, 2]
    assert called == [1, 2]
    assert plans.once(rows, one) == 1  # nothing is kept afterwards
    assert called == [1, 2, 1]


def test_columns_without_a_value_are_constants(tmp_path: Path) -> None:
    """They take no memory then, and no rule can tell."""
    file = tmp_path / "history.parquet"
    write_planted(file)
    rows = pl.read_parquet(file).with_columns(detail=pl.lit(None, pl.String))
    history.write(file, rows)
    for _ in range(2):  # the second time the rows are not checked again
        scanned = history.scan(file)
        assert 'null.alias("detail")' in scanned.explain()
        assert scanned.collect().equals(rows.cast(history.SCHEMA))
