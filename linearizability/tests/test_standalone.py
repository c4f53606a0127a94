"""A standalone Spark cluster gives the verdict that polars gives, with kernels sent to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linearizability.engine import progress
from linearizability.engine.probe import complaint, lacking
from linearizability.engine.session import stop_spark
from linearizability.judging import check
from linearizability.tests.planted import write_planted
from linearizability.tests.standalone import standalone_cluster
from linearizability.verdict import Validity


@pytest.mark.nightly  # four JVMs
@pytest.mark.needs("spark")
def test_a_standalone_cluster_finds_what_polars_finds(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write_planted(file)
    by_polars = check(file, engine="local")
    assert all(c.validity is Validity.INVALID for c in by_polars.checkers.values())
    with standalone_cluster(tmp_path) as master:
        try:
            by_spark = check(file, spark_master=master)
        finally:
            stop_spark()
    assert by_spark.engine == f"spark {master}"
    assert by_spark.checkers == by_polars.checkers


def test_an_executor_without_polars_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    here = lacking(0)
    host, python, missing = json.loads(here)
    assert missing == []
    assert complaint([here, here]) is None
    monkeypatch.setitem(sys.modules, "polars", None)
    problem = complaint([here, lacking(1)])
    assert problem is not None
    assert problem.startswith(f"the Spark executor on {host} (Python {python}) lacks polars;")


def test_the_progress_of_stages_is_one_line() -> None:
    stages: dict[int, Any] = {
        7: SimpleNamespace(stageId=7, numCompletedTasks=3, numTasks=20),
        8: None,  # it ended between two questions
    }
    tracker = SimpleNamespace(getActiveStageIds=lambda: [8, 7], getStageInfo=stages.get)
    context: Any = SimpleNamespace(statusTracker=lambda: tracker)
    assert progress.running_stages(context) == [(7, 3, 20)]
    assert (
        progress.line([(7, 3, 20), (9, 0, 2)]) == "spark: stage 7: 3/20 tasks; stage 9: 0/2 tasks"
    )
    assert progress.line([]) == "spark: planning"
