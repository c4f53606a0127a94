"""Cases that judge the history of a run: what becomes of them if there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaos.run import runner
from chaos.run.result import RunResult
from conformance.case import Deviation
from conformance.target.examination import Examined
from conformance.target.judged import expect_valid
from conformance.tests.fake import FakeCluster, FakeKafka


def judge(monkeypatch: pytest.MonkeyPatch, bootstrap: str, *, interrupted: bool) -> None:
    """Judge a run that did not get to its end."""

    def run(_scenario: object, runs: Path, **_: Any) -> RunResult:
        return RunResult(
            runs, {}, ("it has ended",), (), interrupted, recovered=False, reproduce=""
        )

    monkeypatch.setattr(runner, "run", run)
    cluster = FakeCluster(FakeKafka({}))
    cluster.stop()
    examined = Examined("fake", bootstrap, cluster, False, None, {}, "--target fake")
    expect_valid(examined, "appends", "lost_writes")


def test_an_interrupted_run_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another examination of the same address makes a run of its own."""
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            judge(monkeypatch, "interrupted:1", interrupted=True)


def test_a_cluster_that_does_not_get_well_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Deviation, match="all is well after it, actual it has ended"):
        judge(monkeypatch, "unwell:1", interrupted=False)
