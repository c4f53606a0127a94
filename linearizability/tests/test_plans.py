"""Both engines of polars say the same of a history; its size chooses between them."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from linearizability import plans
from linearizability.judging import check
from linearizability.tests.planted import write_planted


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
