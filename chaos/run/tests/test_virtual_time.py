"""A run in virtual time: the runner, its phases, workload and nemesis are those of every run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from chaos.record.run_directory import Scenario
from chaos.run.fitting import Parts
from chaos.run.result import RunResult
from chaos.run.runner import run
from chaos.sim.world import VirtualWorld
from chaos.tests.fakes import FakeTarget, tools_for
from chaos.values.faults import Fault, Heal, Kill
from chaos.values.protocols import Performed
from chaos.workloads import WORKLOADS
from linearizability import history
from linearizability.judging import check
from linearizability.verdict import Validity

SECONDS = 40.0
SCENARIO = Scenario("fake", "appends", "kill-and-heal", 1, SECONDS, seed=7, rate=20.0)


class KillAndHeal:
    """Kill and heal every few seconds."""

    name = "kill-and-heal"
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        while True:
            yield rng.uniform(1.0, 5.0), Kill("random")
            yield rng.uniform(0.1, 1.0), Heal()


class VirtualTarget(FakeTarget):
    """The cluster in memory, in virtual time."""

    def make_world(self, seed: int) -> VirtualWorld:
        return VirtualWorld(seed)


def run_in_virtual_time(
    directory: Path, scenario: Scenario = SCENARIO, target: VirtualTarget | None = None
) -> RunResult:
    target = target or VirtualTarget()
    parts = Parts(target, WORKLOADS["appends"], KillAndHeal())
    tools = tools_for(target.cluster)
    return run(scenario, directory, parts=parts, tools=tools, progress=False)


def rows_of(result: RunResult) -> pl.DataFrame:
    return history.scan(result.directory).collect().drop("run_id")


def test_a_run_is_soon_over_and_the_same_each_time(tmp_path: Path) -> None:
    began = time.monotonic()
    first, second = (run_in_virtual_time(tmp_path / name) for name in ("first", "second"))
    assert time.monotonic() - began < SECONDS
    rows = rows_of(first)
    assert_frame_equal(rows, rows_of(second))
    faults = rows.filter(f="nemesis")
    assert faults.height > 10
    lasted_ns = faults.select(pl.col("t_invoke_ns").max() - pl.col("t_invoke_ns").min()).item()
    assert lasted_ns > (SECONDS - 10) * 1e9
    assert rows.filter(f="send", type="info").height > 0  # the kills were felt
    judged_by = WORKLOADS["appends"].judged_by
    verdict = check(first.directory, engine="local", named_by_workload=judged_by)
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
    another = rows_of(run_in_virtual_time(tmp_path / "third", replace(SCENARIO, seed=8)))
    assert not rows.equals(another)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_heals_and_keeps_what_it_recorded(number: int, tmp_path: Path) -> None:
    target = VirtualTarget()
    perform = target.cluster.perform

    def perform_and_interrupt(fault: Fault) -> Performed:
        performed = perform(fault)
        if len(target.cluster.faults_performed) == 3:
            os.kill(os.getpid(), number)
        return performed

    target.cluster.perform = perform_and_interrupt  # type: ignore[method-assign]
    result = run_in_virtual_time(tmp_path, target=target)
    assert result.interrupted and target.cluster.stopped
    assert isinstance(target.cluster.faults_performed[-1], Heal)
    assert rows_of(result).filter(f="send").height > 0
