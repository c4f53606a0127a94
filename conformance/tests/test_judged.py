"""Cases that judge the history of a run: what becomes of them if there is none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from chaos.record.run_directory import Scenario
from chaos.run import runner
from chaos.run.interrupts import Interrupts
from chaos.run.result import RunResult
from conformance.case import Deviation, Unsupported
from conformance.target import judged
from conformance.target.examination import Examined
from conformance.target.judged import expect_valid
from conformance.tests.fake import FakeCluster, FakeKafka
from linearizability.verdict import Anomaly, CheckerVerdict, Validity, Verdict
from reference_impl.access import Access, Bootstrap


def ended(*, interrupted: bool) -> Callable[..., RunResult]:
    """Return a run that did not get to its end."""

    def run(_scenario: object, runs: Path, **_: Any) -> RunResult:
        return RunResult(
            runs, {}, ("it has ended",), (), interrupted, recovered=False, reproduce=""
        )

    return run


def judge(monkeypatch: pytest.MonkeyPatch, bootstrap: str, run: Callable[..., RunResult]) -> None:
    """Judge what this function in the place of the run returns."""
    monkeypatch.setattr(runner, "run", run)
    cluster = FakeCluster(FakeKafka({}))
    cluster.stop()
    examined = Examined("fake", bootstrap, cluster, False, None, {}, "--target fake")
    expect_valid(examined, "appends", "lost_writes")


def test_an_interrupted_run_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another examination of the same address makes a run of its own."""
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            judge(monkeypatch, "interrupted:1", ended(interrupted=True))


def test_a_run_records_no_secret_of_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario is copied into run.json, which an address with an Access cannot be."""
    secret = Access("SASL_PLAINTEXT", "PLAIN", username="alice", password="secret of alice")

    def run(scenario: Scenario, _runs: Path, **_: Any) -> RunResult:
        assert asdict(scenario)["target"] == "secured:1"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(monkeypatch, Bootstrap("secured:1", secret), run)


def test_a_run_that_does_not_end_on_a_foreign_target_fails_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run itself catches the interruption, and ends what it had started."""

    def run(_scenario: object, runs: Path, **_: Any) -> RunResult:
        with Interrupts(), suppress(KeyboardInterrupt):
            threading.Event().wait(30)
        return RunResult(runs, {}, ("it waits",), (), True, recovered=False, reproduce="")

    monkeypatch.setattr(judged, "RUN_TIMEOUT_S", 0.1)
    with pytest.raises(Deviation, match=r"ends within .* s, actual it waits"):
        judge(monkeypatch, "endless:1", run)


def test_a_checker_that_found_something_is_named_before_one_that_had_nothing_to_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anomaly = Anomaly("refused", (1,), "record 1 was refused")
    checkers = {
        "duplicates": CheckerVerdict("duplicates", Validity.NOT_APPLICABLE, 0),
        "idempotence": CheckerVerdict("idempotence", Validity.INVALID, 3, (anomaly,), 1),
    }
    found = Verdict(Validity.INVALID, "local", checkers)
    monkeypatch.setattr(judged, "_verdict", lambda *_: found)
    examined = Examined("fake", "nowhere:1", FakeCluster(FakeKafka({})), False, None, {}, "")
    with pytest.raises(Deviation, match=r"idempotence of workload.*record 1 was refused"):
        expect_valid(examined, "sequences", "duplicates", "idempotence", "lost_writes")


def test_the_bound_of_a_run_does_not_end_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its signal may come after the run, when only the examination is there to take it."""

    def run(_scenario: object, runs: Path, **_: Any) -> RunResult:
        threading.Event().wait(30)
        return RunResult(runs, {}, ("it waits",), (), True, recovered=False, reproduce="")

    ended: list[str] = []
    monkeypatch.setattr(judged, "RUN_TIMEOUT_S", 0.1)
    with (
        Interrupts(lambda: ended.append("interrupted")),
        pytest.raises(Deviation, match=r"ends within .* s"),
    ):
        judge(monkeypatch, "late:1", run)
    assert ended == []


def test_a_target_that_did_not_get_well_after_kills_is_not_killed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each further workload would wait in vain for a minute and a half."""
    monkeypatch.setattr(runner, "run", ended(interrupted=False))
    cluster = FakeCluster(FakeKafka({}))
    cluster.stop()
    examined = Examined("fake", "forgetful:1", cluster, True, None, {}, "--target fake")
    with pytest.raises(Deviation, match="all is well after it"):
        expect_valid(examined, "appends", "lost_writes")
    with pytest.raises(Unsupported, match="not become well after the kills of workload appends"):
        expect_valid(examined, "sequences", "duplicates")
    with pytest.raises(Deviation, match="all is well after it"):
        expect_valid(examined, "appends", "append_order")


def test_a_cluster_that_does_not_get_well_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Deviation, match="all is well after it, actual it has ended"):
        judge(monkeypatch, "unwell:1", ended(interrupted=False))
