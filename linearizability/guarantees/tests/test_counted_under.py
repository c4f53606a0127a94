"""A checker counts nothing without the needs under which it says that it counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from linearizability import history
from linearizability.checkers.base import Needs
from linearizability.checkers.table import CHECKERS
from linearizability.engine.opinion import frame_of
from linearizability.ingest import resolved
from linearizability.tests.planted import write_planted

CLAIMS = [
    (name, need)
    for name, checker in CHECKERS.items()
    for need in Needs
    if need in checker.counted_under
]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    file: Path = tmp_path_factory.mktemp("planted") / "history.parquet"
    write_planted(file)
    return resolved(history.scan(file))


@pytest.mark.parametrize(("name", "need"), CLAIMS, ids=lambda part: getattr(part, "name", part))
def test_without_the_need_nothing_is_counted(name: str, need: Needs, events: pl.DataFrame) -> None:
    checker = CHECKERS[name]
    assert need in checker.needs
    assert _counted(name, events)
    without = events.filter(~need.rows.fill_null(False))
    assert without.height
    assert _counted(name, without) == 0


def _counted(name: str, events: pl.DataFrame) -> int:
    checker = CHECKERS[name]
    counted: int = checker.checked(frame_of(events, checker.scope)).collect()["checked"][0]
    return counted
