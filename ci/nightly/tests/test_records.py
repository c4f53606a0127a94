"""Test the records of nights: partitioned histories, within the limit on disk space."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ci.errors import UsageError
from ci.nightly.records import UNCOMMITTED, Night, Store, flaky_commands
from ci.nightly.tests.made import night, outcome, run_directory
from ci.nightly.trend import write_trend
from linearizability import history

KIB_IN_GIB = 1 / (1 << 20)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_a_night_comes_back_from_its_file(store: Store) -> None:
    written = night(store, 1, [outcome(verdicts=["invalid", "valid"])])
    assert store.nights() == [written]


def test_a_broken_record_is_named_with_what_to_do(store: Store) -> None:
    file = night(store, 1, []).file
    file.write_text("{")
    with pytest.raises(UsageError, match=r"is not a record of a night .* delete it") as refused:
        Night.read(file)
    assert str(file) in str(refused.value)


def test_histories_are_found_by_date_and_target(store: Store) -> None:
    for day, target in ((1, "apache:4.3.1"), (2, "reference")):
        run = store.runs / f"run-{day}"
        run.mkdir(parents=True)
        rows = [{"f": "send", "topic": "t", "partition": 0, "value": n} for n in range(day)]
        history.write(run / "history.parquet", history.frame(rows))
        kept = store.keep_history(run, target, f"2026-01-0{day}T02:00:00")
        assert kept.stat().st_ino == (run / "history.parquet").stat().st_ino
    files = str(store.home / "histories/**/*.parquet")
    counted = pl.scan_parquet(files, hive_partitioning=True, try_parse_hive_dates=False)
    found = counted.group_by("date", "target").len().sort("date").collect().rows()
    assert found == [("2026-01-01", "apache_4.3.1", 1), ("2026-01-02", "reference", 2)]


def test_the_oldest_green_runs_go_first_and_nothing_that_nights_did_not_make(store: Store) -> None:
    mine = run_directory(store, "by-hand", 500)
    for name in ("red", "old", "new"):
        directory = run_directory(store, name, 100)
        store.keep_history(directory, "reference", "2026-01-01")
    night(store, 1, [outcome(run="red", verdicts=["invalid"]), outcome(run="old")])
    night(store, 2, [outcome(run="new")])
    assert store.prune(350 * KIB_IN_GIB) == []
    assert store.prune(250 * KIB_IN_GIB) == ["old"]
    assert store.prune(150 * KIB_IN_GIB) == ["new"]
    assert store.prune(50 * KIB_IN_GIB) == ["red"]
    assert mine.is_dir()
    assert list(store.home.glob("histories/*/*/*")) == []


def test_what_was_run_twice_goes_with_both_its_runs(store: Store) -> None:
    for name in ("first", "again"):
        run_directory(store, name, 100)
    twice = replace(outcome(run="again", verdicts=["invalid", "valid"]), earlier_runs=("first",))
    written = night(store, 1, [twice, outcome(run="")])
    assert store.nights() == [written]
    assert store.prune(0) == ["first", "again"]
    assert store.runs.is_dir()


def test_flaky_is_the_same_seed_and_commit_with_different_verdicts(store: Store) -> None:
    first = night(store, 1, [outcome(seed=1), outcome(seed=2)], "a")
    same = night(store, 2, [outcome(seed=1, verdicts=["invalid"]), outcome(seed=2)], "a")
    other = night(store, 3, [outcome(seed=2, verdicts=["invalid"])], "b")
    assert flaky_commands([first, other]) == set()
    assert flaky_commands([first, same, other]) == {outcome(seed=1).command}


def test_nights_with_uncommitted_changes_may_have_had_different_ones(store: Store) -> None:
    commit = f"a{UNCOMMITTED}"
    first = night(store, 1, [outcome()], commit)
    second = night(store, 2, [outcome(verdicts=["invalid"])], commit)
    assert flaky_commands([first, second]) == set()
    both = night(store, 3, [outcome(verdicts=["invalid", "valid"])], commit)
    assert flaky_commands([first, second, both]) == {outcome().command}


def test_the_trend_shows_every_scenario_by_night_what_went_wrong_first(store: Store) -> None:
    run_directory(store, "kept", 1)
    night(store, 1, [outcome("a calm one", run="deleted"), outcome("a bad one", seed=2)])
    night(
        store,
        2,
        [outcome("a calm one", run="kept"), outcome("a bad one", seed=2, verdicts=["invalid"])],
    )
    page = write_trend(store).read_text()
    assert page.index("a bad one") < page.index("a calm one")
    assert "2 scenarios on reference at commit c0ffee: 1 as expected, 1 not as expected" in page
    assert page.index("Expected valid; invalid.") < page.index("Scenarios over time</h2>")
    assert '<a href="../kept/report.html">valid</a>' in page
    assert "../deleted/" not in page
    assert page.count('class="cell bad" title="flaky') == 2
    assert "2026-01-01" in page


def test_without_a_night_the_trend_says_so(store: Store) -> None:
    assert "no night is on record" in write_trend(store).read_text()
