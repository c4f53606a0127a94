"""Test the runner against a cluster in memory: what it records, and what it leaves behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from chaos.means.connection import WireError
from chaos.nemeses import NEMESES
from chaos.record import recorder
from chaos.record.run_directory import Scenario
from chaos.run import final_phase, phases, runner
from chaos.run.fitting import Parts, check_able
from chaos.run.result import RunError, RunResult
from chaos.tests.fakes import FakeClient, FakeCluster, FakeTarget, tools_for
from chaos.values.faults import Fault, Heal, Isolate, Kill
from chaos.values.protocols import (
    ClientSettings,
    Completion,
    Isolation,
    Operation,
    Outcome,
    Performed,
    ReadAll,
    Send,
    TargetError,
)
from chaos.workloads import WORKLOADS
from chaos.workloads.appends import Appends
from chaos.workloads.reading import final_reads
from linearizability import history
from linearizability.excuses.faults import is_heal
from linearizability.judging import check
from linearizability.verdict import Validity


class QuickKill:
    """Kill and heal, several times a second."""

    name = "quick-kill"
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        while True:
            yield 0.1, Kill("random")
            yield 0.1, Heal()


def scenario_of(workload: str = "appends", nemesis: str = "none", nodes: int = 1) -> Scenario:
    return Scenario("reference", workload, nemesis, nodes, 0.8, seed=7, rate=2_000.0)


def make_run(
    tmp_path: Path, target: FakeTarget | None = None, seconds: float = 0.8, **options: Any
) -> RunResult:
    target = target or FakeTarget()
    parts = Parts(target, WORKLOADS["appends"], QuickKill())
    given: dict[str, Any] = {"parts": parts, "progress": False, "tools": tools_for(target.cluster)}
    scenario = replace(scenario_of("appends", "quick-kill"), seconds=seconds)
    return runner.run(scenario, tmp_path, **given | options)


def rows_of(result: RunResult) -> pl.DataFrame:
    return history.scan(result.directory).collect()


def test_a_run_leaves_a_history_that_the_judges_find_valid(tmp_path: Path) -> None:
    result = make_run(tmp_path)
    verdict = check(
        result.directory, engine="local", named_by_workload=WORKLOADS["appends"].judged_by
    )
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
    rows = rows_of(result)
    assert set(rows["f"]) == {"topic", "send", "poll", "position", "assign", "read_all", "nemesis"}
    assert rows.filter(f="send", type="info").height > 0  # the kills were felt
    assert rows.filter(final=True, f="read_all")["high_watermark"].is_not_null().all()


def test_operations_of_one_process_never_overlap_and_have_their_own_numbers(tmp_path: Path) -> None:
    rows = rows_of(make_run(tmp_path)).filter(pl.col("f") != "nemesis")
    operations = rows.group_by("op_id").agg(
        pl.col("process").n_unique().alias("processes"),
        pl.col("process").first(),
        pl.col("t_invoke_ns").min(),
        pl.col("t_complete_ns").max(),
    )
    assert operations["processes"].max() == 1
    in_order = operations.sort("t_invoke_ns").with_columns(
        pl.col("t_complete_ns").shift(1).over("process").alias("end_before")
    )
    assert in_order.filter(pl.col("end_before") > pl.col("t_invoke_ns")).is_empty()
    assert in_order["end_before"].drop_nulls().len() > 100


def test_run_json_says_which_run_it_was_and_how_it_went(tmp_path: Path) -> None:
    result = make_run(tmp_path, argv=["chaos", "run"])
    facts = json.loads((result.directory / "run.json").read_text())
    assert facts["seed"] == 7
    assert facts["judged_by"] == list(WORKLOADS["appends"].judged_by)
    assert facts["recovered"] and not facts["interrupted"]
    assert facts["counts"]["records_acknowledged"] > 0
    assert "--workload appends --nemesis quick-kill --seconds 0.8 --seed 7" in facts["reproduce"]
    assert (result.directory / "nodes" / "1" / "node.log").exists()
    assert not (result.directory / "cluster").exists()


def test_a_broken_client_is_replaced_and_its_process_goes_on_in_a_new_session(
    tmp_path: Path,
) -> None:
    class Breaks(FakeClient):
        breaks_after = 5

    target = FakeTarget()
    rows = rows_of(make_run(tmp_path, target, tools=tools_for(target.cluster, Breaks), seconds=1.5))
    sender = rows.filter(process=0, f="send").sort("op_id")
    assert sender["session"].n_unique() >= 2
    assert sender.filter(pl.col("session") > 0, type="ok").height > 0


def test_a_client_that_raises_is_recorded_as_unknown_and_forbids_valid(tmp_path: Path) -> None:
    class Raises(FakeClient):
        raises = True

    target = FakeTarget()
    target_tools = tools_for(target.cluster, Raises)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "WARM_UP_TIMEOUT_S", 0.2)
        result = make_run(tmp_path, target, tools=target_tools)
    assert any("out of paper" in problem for problem in result.problems)
    assert any("no record was acknowledged" in problem for problem in result.problems)
    assert set(rows_of(result).filter(f="send")["type"]) == {"info"}


def test_a_target_that_lacks_a_fault_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"'fake' cannot Isolate .*partition-leader.*it can"):
        runner.run(
            scenario_of(nodes=3),
            tmp_path / "runs",
            parts=Parts(FakeTarget(), WORKLOADS["appends"], NEMESES["partition-leader"]),
        )
    assert not (tmp_path / "runs").exists()


def test_a_partition_of_one_node_is_refused(tmp_path: Path) -> None:
    class Able(FakeTarget):
        faults = frozenset({Isolate, Heal})

    with pytest.raises(TargetError, match="needs at least 2 nodes, not 1"):
        check_able(Able(), NEMESES["partition-leader"], 1)


@pytest.mark.parametrize(
    ("workload", "nemesis", "sentence"),
    [
        ("apends", "none", "unknown workload 'apends' .*did you mean 'appends'"),
        ("appends", "kil", "unknown nemesis 'kil' .*did you mean 'kill'"),
    ],
)
def test_an_unknown_name_is_answered_by_the_nearest(
    workload: str, nemesis: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match=sentence):
        runner.run(scenario_of(workload, nemesis), tmp_path)


def test_a_target_without_transactions_is_refused_in_one_sentence(tmp_path: Path) -> None:
    target = FakeTarget()
    with pytest.raises(RunError, match="'fake' serves no transactions"):
        make_run(tmp_path, target, parts=Parts(target, WORKLOADS["transactions"], QuickKill()))
    assert target.cluster.stopped
    assert list(tmp_path.iterdir()) == []  # a refused run leaves no directory


def test_a_target_that_refuses_the_login_leaves_no_directory(tmp_path: Path) -> None:
    class Closed(FakeTarget):
        def start(self, *_given: Any, **_options: Any) -> Any:
            raise TargetError("alice is refused; correct its [client] table") from WireError("no")

    target = Closed()
    with pytest.raises(TargetError, match="alice is refused"):
        make_run(tmp_path, target)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_client_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"unknown client 'jave' .*did you mean 'java'"):
        runner.run(replace(scenario_of(), client="jave"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_faults_which_strike_nothing_forbid_valid(tmp_path: Path) -> None:
    target = FakeTarget()
    target.cluster.refuses = True
    result = make_run(tmp_path, target)
    problem = next(
        each for each in result.problems if each.startswith("no fault affected any node")
    )
    assert "was not performed: the fake cannot just now" in problem
    assert any("cannot just now" in note for note in result.notes)


def test_a_heal_that_failed_ends_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = FakeTarget()
    perform = target.cluster.perform

    def perform_but_heal(fault: Fault) -> Performed:
        if not isinstance(fault, Heal):
            return perform(fault)
        target.cluster.restart()
        raise TargetError("links hang")

    monkeypatch.setattr(target.cluster, "perform", perform_but_heal)
    result = make_run(tmp_path, target)
    rows = history.scan(result.directory).filter(pl.col("f") == "nemesis").collect()
    assert rows.height > 1
    assert not any(map(is_heal, rows["detail"]))
    assert any("Heal was not performed: links hang" in note for note in result.notes)


def test_a_cluster_that_does_not_get_well_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_phase, "RECOVERY_TIMEOUT_S", 0.3)
    target = FakeTarget()
    target.cluster.never_well = True
    result = make_run(tmp_path, target)
    assert not result.recovered
    assert any(
        "not recovered" in problem and "it never is" in problem for problem in result.problems
    )
    assert target.cluster.stopped


class Refused(FakeClient):
    """A client whose every record is refused."""

    async def perform(self, operation: Operation) -> Completion:
        if isinstance(operation, Send):
            return Completion(Outcome.FAIL, (), "NOT_ENOUGH_REPLICAS", "one replica of two")
        return await super().perform(operation)


def test_a_run_without_an_acknowledged_record_says_what_the_clients_were_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "WARM_UP_TIMEOUT_S", 0.2)
    target = FakeTarget()
    target.cluster.log = (
        "[2026-01-02 03:04:05,678] INFO ready\n"
        "[2026-01-02 03:04:06,678] ERROR partition appends-0 has 1 replica\n"
        "\x1b[2m2026-01-02T03:04:07.678901Z\x1b[0m ERROR partition appends-1 has 1 replica\n"
    )
    result = make_run(tmp_path, target, tools=tools_for(target.cluster, Refused))
    problem = next(each for each in result.problems if each.startswith("no record was ack"))
    assert "Send NOT_ENOUGH_REPLICAS" in problem and "(one replica of two)" in problem
    assert "The brokers logged: ERROR partition appends-0 has 1 replica (2 times)" in problem
    assert problem.endswith("A Produce to appends was answered UNKNOWN_SERVER_ERROR")
    told = json.loads((result.directory / "run.json").read_text())["nowhere"]
    assert told["errors"][0]["error"] == "NOT_ENOUGH_REPLICAS"
    assert told["errors"][0]["times"] > 1
    assert told["brokers_log"] == [{"line": "ERROR partition appends-0 has 1 replica", "times": 2}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_heals_stops_and_keeps_what_it_recorded(
    number: int, tmp_path: Path
) -> None:
    target = FakeTarget()

    def interrupt_when_busy() -> None:
        while not any(target.cluster.logs.values()):
            threading.Event().wait(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt_when_busy, daemon=True).start()
    result = make_run(tmp_path, target, seconds=60.0)
    assert result.interrupted
    assert target.cluster.stopped and isinstance(target.cluster.faults_performed[-1], Heal)
    assert rows_of(result).filter(f="send").height > 0
    assert json.loads((result.directory / "run.json").read_text())["interrupted"]


def test_a_runs_directory_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.write_text("")
    with pytest.raises(RunError, match=r"runs.*--runs"):
        make_run(file)


def test_a_full_disk_ends_the_run_in_one_sentence_and_stops_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq, "write_table", no_space)
    monkeypatch.setattr(recorder, "FLUSH_S", 0.1)
    target = FakeTarget()
    with pytest.raises(RunError, match=r"No space left on device.*free some space"):
        make_run(tmp_path, target, seconds=30.0)
    assert target.cluster.stopped


def test_the_fake_cluster_loses_no_acknowledged_value() -> None:
    """The fake is part of every other test's argument."""
    cluster = FakeCluster()
    assert [cluster.append(("t", 0), value) for value in (5, 6)] == [0, 1]
    cluster.down = True
    assert [cluster.append(("t", 0), value) for value in (7, 8)] == [None, None]
    assert cluster.logs["t", 0] == [5, 6, 7]


@pytest.mark.parametrize("what", ["group", "transaction"])
def test_a_coordinator_that_there_is_none_of_is_refused(tmp_path: Path, what: str) -> None:
    nemesis = f"kill-{what}-coordinator"
    with pytest.raises(TargetError, match=f"has no {what}s?, so nemesis"):
        runner.run(scenario_of("appends", nemesis), tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_held_readers_up_to_the_end_is_read_raw_when_it_is_overdue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HeldUp(FakeClient):
        async def perform(self, operation: Operation) -> Completion:
            if isinstance(operation, ReadAll) and not operation.raw:
                return Completion(Outcome.INFO, (), "_NOT_READ", "it waits")
            return await super().perform(operation)

    class OfCommitted(Appends):
        def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
            return final_reads(self.topics(), Isolation.READ_COMMITTED)

    monkeypatch.setattr(final_phase, "OVERDUE_S", 0.5)
    target = FakeTarget()
    tools = tools_for(target.cluster, HeldUp)
    result = make_run(
        tmp_path, target, tools=tools, parts=Parts(target, OfCommitted(), QuickKill())
    )
    assert any("did not succeed" in problem for problem in result.problems)
    finally_read = rows_of(result).filter(final=True, f="read_all")
    last = finally_read.filter(pl.col("op_id") == pl.col("op_id").max())
    assert last["type"].unique().to_list() == ["ok"]
    assert last["isolation"].unique().to_list() == ["read_uncommitted"]
    waited_ns = pl.col("t_invoke_ns").max() - pl.col("t_invoke_ns").min()
    assert finally_read.select(waited_ns).item() > 400_000_000
