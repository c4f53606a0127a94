"""Run a chaos workload on the target under test, and have checkers judge its history.

Some guarantees cannot be checked in a single response, but only in what many clients saw: a case of
such a guarantee names the workload and the checkers. All cases that name a workload share one run
of it.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Self

from chaos.run.interrupts import Interrupts
from chaos.values.faults import Fault, Heal, Kill
from chaos.values.protocols import Cluster, Performed, TargetError
from conformance.case import Deviation, Unsupported, expect_that
from conformance.target.examination import Examined
from conformance.terms import TERMS

if TYPE_CHECKING:
    from chaos.run.result import RunResult
    from linearizability import CheckerVerdict, Verdict

ATTACK_S = 12.0
RATE = 200.0
SEED = 1
RUN_TIMEOUT_S, STOP_TIMEOUT_S = 45.0, 3.0
"""The longest run on a target that was not started here, whose recovery nobody waits for, and the
longest wait for each step of its end."""
UNDER_ATTACK, IN_PEACE = "kill-leader", "none"
_JUDGED: dict[tuple[str, str], Verdict | Deviation | Unsupported] = {}
"""(bootstrap, workload) -> the verdict on its run, or why there is none."""
_UNWELL: dict[str, str] = {}
"""bootstrap -> the first workload after whose kills the target did not become well."""


class Lent:
    """The running cluster of the conformance suite, lent to a chaos run, which does not stop it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.target, self.version = cluster.target, cluster.version
        self.bootstrap, self.nodes = cluster.bootstrap, cluster.nodes
        self.listeners: Mapping[str, str] = cluster.listeners

    @property
    def focus(self) -> tuple[str, int] | None:
        return self._cluster.focus

    @focus.setter
    def focus(self, partition: tuple[str, int] | None) -> None:
        self._cluster.focus = partition

    @property
    def rng(self) -> Random:
        return self._cluster.rng

    @rng.setter
    def rng(self, rng: Random) -> None:
        self._cluster.rng = rng

    def perform(self, fault: Fault) -> Performed:
        return self._cluster.perform(fault)

    def alive(self) -> bool:
        return self._cluster.alive()

    def restart(self) -> None:
        self._cluster.restart()

    def collect(self, into: Path) -> None:
        """Do nothing: the logs belong to the whole conformance run."""

    def stop(self) -> None:
        """Do nothing: other cases follow."""


class Running:
    """The target under test, in the form of a chaos target."""

    def __init__(self, examined: Examined) -> None:
        self.name = str(examined.bootstrap)  # without the Access, which no run may record
        self.nodes = examined.cluster.nodes
        """The number of nodes. Since it is known, the run uses names of its own and removes what it
        has created."""
        self.faults: frozenset[type[Fault]] = frozenset({Heal})
        if examined.can_restart and TERMS.permit("restart"):
            self.faults |= {Kill}
        self._cluster = examined.cluster

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Return the running cluster; directory, nodes, config and proxied change nothing."""
        return Lent(self._cluster)


class Alarm:
    """A context that sends SIGTERM to the process once the time is over, which interrupts the main
    thread as Ctrl-C does; then has_rung is true."""

    def __init__(self, seconds: float) -> None:
        self.has_rung = False
        self._interrupts = Interrupts()
        """Takes the signal that comes before or after the run, which must not end the whole
        examination."""
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True

    def _ring(self) -> None:
        self.has_rung = True
        os.kill(os.getpid(), signal.SIGTERM)

    def __enter__(self) -> Self:
        self._interrupts.__enter__()
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        try:
            self._timer.join()  # its signal, if any, arrives before this returns
        finally:
            self._interrupts.__exit__()


def expect_valid(examined: Examined, workload: str, *checkers: str) -> None:
    """Run the workload, once for all cases that name it, and kill the leader now and then if the
    target was started here. Fail unless each of these checkers has judged something and found
    nothing wrong. Raise Unsupported if the workload cannot run. The failure names a checker that
    found something, if there is one: why another had nothing to judge says less."""
    TERMS.require("produce", f"workload {workload}")
    found = {name: _verdict(examined, workload).checkers.get(name) for name in checkers}
    wrong = [name for name in checkers if _validity(found[name]) != "valid"]
    for name in sorted(wrong, key=lambda name: _validity(found[name]) != "invalid"):
        raise Deviation(f"{name} of workload {workload}", "valid", _told(found[name]))


def _validity(found: CheckerVerdict | None) -> str | None:
    return None if found is None else found.validity.value


def _told(found: CheckerVerdict | None) -> str:
    if found is None:
        return "not judged"
    first = found.anomalies[0].message if found.anomalies else found.reason or "nothing to judge"
    more = f" (and {found.anomaly_count - 1} more)" if found.anomaly_count > 1 else ""
    return f"{found.validity.value}: {first}{more}"


def _verdict(examined: Examined, workload: str) -> Verdict:
    """Return the verdict on the run of this workload; the first case that needs it makes the run.
    Raise Deviation or Unsupported, for every such case, if the run failed, and KeyboardInterrupt
    if it was interrupted, which judges nothing."""
    key = examined.bootstrap, workload
    if key not in _JUDGED:
        directory = Path(tempfile.mkdtemp(prefix="touchstone-conform-judged-"))
        try:
            _JUDGED[key] = _run(examined, workload, directory)
        except (Deviation, Unsupported) as error:
            _JUDGED[key] = error
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    if isinstance(judged := _JUDGED[key], Exception):
        raise judged
    return judged


def _run(examined: Examined, workload: str, directory: Path) -> Verdict:
    try:
        from chaos.clients.factories import clients_named
        from chaos.record.run_directory import Scenario
        from chaos.run.fitting import Parts, nemesis_named, workload_named
        from chaos.run.runner import Tools, run
        from linearizability import check
    except ImportError as error:
        raise Unsupported(
            f"the case judges a history, which needs {error.name}:"
            " pip install 'touchstone-kafka[chaos]'"
        ) from error
    target = Running(examined)
    nemesis = UNDER_ATTACK if Kill in target.faults else IN_PEACE
    if nemesis == UNDER_ATTACK and (first := _UNWELL.get(examined.bootstrap)):
        raise Unsupported(
            f"workload {workload} was not run: the target did not become well after the kills of"
            f" workload {first}; see the failure of that"
        )
    parts = Parts(target, workload_named(workload), nemesis_named(nemesis))
    scenario = Scenario(
        target.name, workload, nemesis, target.nodes, seconds=ATTACK_S, seed=SEED, rate=RATE
    )
    tools = Tools(clients_named(scenario.client), stop_s=STOP_TIMEOUT_S)
    alarm = Alarm(RUN_TIMEOUT_S) if nemesis == IN_PEACE else None
    made: RunResult | None = None
    try:
        with alarm or nullcontext():
            made = run(scenario, directory, parts=parts, tools=tools, progress=False)
    except TargetError as error:
        raise Unsupported(f"workload {workload} cannot run here: {error}") from error
    except KeyboardInterrupt:
        if alarm is None or not alarm.has_rung:
            raise
    if made is None or made.interrupted:  # the run has caught the exception, and has cleaned up
        if alarm is None or not alarm.has_rung:
            raise KeyboardInterrupt
        why = "; ".join(made.problems) if made is not None else "it did not end"
        raise Deviation(f"workload {workload}", f"ends within {RUN_TIMEOUT_S:g} s", why)
    # Other problems only say that the run was too short to show something: the checkers decide.
    why = "; ".join(made.problems)
    if nemesis == UNDER_ATTACK and not made.recovered:
        _UNWELL[examined.bootstrap] = workload
    expect_that(made.recovered, f"workload {workload}", "all is well after it", why)
    judges = parts.workload.judged_by
    return check(made.directory, named_by_workload=judges)
