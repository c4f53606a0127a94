"""Spark Connect: the verdict that polars gives, and one sentence where there is none to be had."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from polars.testing import assert_frame_equal

from linearizability.engine import connect, progress
from linearizability.engine.session import SparkError, spark_session, stop_spark
from linearizability.judging import check
from linearizability.measures.summary import summarise
from linearizability.tests.planted import write_planted
from linearizability.tests.standalone import connect_server


@pytest.mark.nightly  # a JVM of its own, and its workers
@pytest.mark.needs("spark", "spark-connect")
def test_a_connect_server_finds_what_polars_finds(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write_planted(file)
    with connect_server(tmp_path) as url:
        try:
            by_spark = check(file, spark_master=url)
            summary = summarise(file, spark_master=url)
        finally:
            stop_spark()
    assert connect.MODE not in os.environ  # the next session may be one of its own
    assert by_spark.engine == f"spark {url}"
    assert by_spark.checkers == check(file, engine="local").checkers
    assert_frame_equal(summary.series, summarise(file, engine="local").series)


@pytest.mark.needs("spark-connect")
def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"sc://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SparkError, match=rf"no Spark Connect server answers on {url[5:]} \("):
            spark_session(url)


@pytest.mark.needs("spark-connect")
@pytest.mark.parametrize("url", ["sc://", "sc://:15002", "sc://host:many"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    assert connect.hindrance(url) == f"Spark master {url!r} must be sc://host:port"


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"grpc", "google.rpc"}
    monkeypatch.setattr(connect, "find_spec", lambda name: None if name in absent else object())
    with pytest.raises(SparkError) as refused:
        spark_session("sc://127.0.0.1:15002")
    assert str(refused.value) == (
        "Spark Connect needs grpcio and googleapis-common-protos here; "
        "pip install 'touchstone-kafka[spark]'"
    )


def test_what_a_server_tells_of_its_stages_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    told = [
        SimpleNamespace(stage_id=4, num_completed_tasks=9, num_tasks=9, done=True),
        SimpleNamespace(stage_id=5, num_completed_tasks=3, num_tasks=20, done=False),
    ]
    progress.on_progress(stages=told, inflight_tasks=2, operation_id="a", done=False)
    progress.on_progress(stages=None, inflight_tasks=0, operation_id="a", done=True)
    shown = capfd.readouterr().err
    assert "spark: stage 5: 3/20 tasks" in shown
    assert shown.endswith("spark: planning")
