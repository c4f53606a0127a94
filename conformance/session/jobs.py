"""Distribute the cases of an examination among several processes (--jobs N), by pytest-xdist.

This process runs no case. It hands out units of cases (units.py), collects the results in the order
of one job, and ends the other processes (worker.py) once a limit is reached or a signal comes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from chaos.means import ports
from chaos.run.interrupts import SIGNALS
from conformance.session.again import Repeats, lines_about
from conformance.session.bar import Bar
from conformance.session.ending import Ending
from conformance.session.keys import ENDING, RESULTS
from conformance.session.units import Plan
from conformance.session.worker import INPUT, PIDS, PLAN, REFUSED, STOP, TOLD


def share_out(config: pytest.Config) -> None:
    """Let pytest-xdist start the processes that --jobs asks for; call this before it looks at its
    own options. Raise UsageError if it is not there. Do nothing for one job, in one of these
    processes, if the cases are only listed, or if there is nothing to examine."""
    jobs = config.getoption("--jobs")
    is_named = config.getoption("--target") or config.getoption("--bootstrap")
    if jobs < 2 or hasattr(config, "workerinput") or config.option.collectonly or not is_named:
        return
    if not config.pluginmanager.hasplugin("xdist"):
        raise pytest.UsageError(
            "conformance: --jobs needs pytest-xdist; `pip install pytest-xdist`, and do not turn it"
            " off"
        )
    config.option.numprocesses, config.option.dist = jobs, "loadscope"
    config.option.tx = ["popen"] * jobs
    config.option.maxworkerrestart = "0"  # a new process would not know what the former did
    config.option.loadscopereorder = False


def port_shares(jobs: int) -> list[str]:
    """Return a range of ports for each process, so that none takes the port of another's dead node.
    Raise UsageError if there are not enough ports."""
    try:
        every = ports.allowed()
    except ports.NoFreePort as error:
        raise pytest.UsageError(f"conformance: {error}") from error
    share = len(every) // jobs
    if share < PORTS_MIN:
        raise pytest.UsageError(
            f"conformance: --jobs {jobs}: at most {len(every) // PORTS_MIN} have enough ports;"
            " lower it, or widen TOUCHSTONE_PORTS"
        )
    return [f"{every[share * n]}-{every[share * (n + 1) - 1]}" for n in range(jobs)]


PORTS_MIN = 100
"""The fewest ports of a process: its target and a second instance, on up to three nodes, choose at
random among those that nobody else uses."""


class Jobs:
    """The pytest plugin of the process that distributes the cases."""

    def __init__(self, config: pytest.Config, jobs: int, *, is_shared: bool) -> None:
        self._config = config
        self._ending: Ending = config.stash[ENDING]
        self._is_shared = is_shared
        self._ports = port_shares(jobs)
        self._folder = Path(tempfile.mkdtemp(prefix="touchstone-jobs-"))
        for name in (TOLD, PIDS):
            (self._folder / name).mkdir()
        # xdist would leave a folder for temporary files of its processes.
        config.option.basetemp = config.option.basetemp or str(self._folder / "pytest")
        self._repeats = Repeats()  # for the names alone: it is no plugin here
        self._bar = Bar()
        config.pluginmanager.register(self._bar)
        self._previous: dict[int, Any] = {}
        self._plan: Plan | None = None
        self._count = 0

    # --- its life -------------------------------------------------------------------------------

    def __enter__(self) -> None:
        """End the examination in order at SIGINT and SIGTERM from now on, and only print at further
        ones."""
        for number in SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        shutil.rmtree(self._folder, ignore_errors=True)

    def shield(self) -> None:
        """Do nothing: a signal never interrupts this process."""

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._ending.reason is not None and (self._folder / STOP).exists():
            print("chaos: stopping everything that was started; please wait", file=sys.stderr)
        self._ending.end_now("interrupted")
        self._stop(at_once=True)

    def _stop(self, *, at_once: bool) -> None:
        """Let no process begin a further case. at_once: interrupt the running cases, too."""
        assert self._ending.reason is not None
        with suppress(OSError):  # the folder is gone at the end
            (self._folder / STOP).write_text(self._ending.reason, encoding="utf-8")
        distributing = self._config.pluginmanager.getplugin("dsession")
        if distributing is not None:
            distributing.shouldstop = self._ending.reason
        for file in (self._folder / PIDS).glob("*") if at_once else ():
            with suppress(ProcessLookupError):
                os.kill(int(file.name), signal.SIGTERM)

    # --- starting the processes -----------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Keep xdist from printing about its processes, and a module in the working directory from
        hiding one of Python's own in them."""
        manager = self._config.pluginmanager
        manager.getplugin("dsession").terminal = None
        if manager.hasplugin("terminaldistreporter"):
            manager.unregister(name="terminaldistreporter")
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            os.environ.pop("PYTHONSAFEPATH")
            if before is not None:
                os.environ["PYTHONSAFEPATH"] = before

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[INPUT] = json.dumps(self.told(self._count))
        self._count += 1

    def told(self, number: int) -> Mapping[str, Any]:
        """Return what the process with this number must know (worker.Worker)."""
        return {
            "number": number,
            "is_shared": self._is_shared,
            "began": self._ending.began,
            "folder": str(self._folder),
            "ports": self._ports[number],
        }

    # --- handing out ----------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Note what there is to run, once the process that says so has collected it."""
        if self._plan is None and (self._folder / PLAN).exists():
            self._plan = Plan.read(self._folder / PLAN)
            results = self._config.stash[RESULTS]
            results.planned, results.advertised = self._plan.cases, self._plan.advertised
            results.order = {nodeid: place for place, nodeid in enumerate(self._plan.order)}
            self._bar.begin(self._config, len(self._plan.order))
            self._ending.begin()
        if self._ending.reason is not None:  # xdist has forgotten what came before its loop
            self._stop(at_once=False)

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Give each process a unit at a time, in the order of collection."""
        from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

        unit_of = self._unit_of

        class ByUnit(LoadScopeScheduling):  # type: ignore[misc]
            def _split_scope(self, nodeid: str) -> str:
                return unit_of(nodeid)

        return ByUnit(config, log)

    def _unit_of(self, nodeid: str) -> str:
        assert self._plan is not None
        return self._plan.units[nodeid]

    # --- collecting -----------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a case, and end the examination if it was the last one."""
        if (text := getattr(report, "conformance", None)) is None:
            return
        told = json.loads(text)
        entry = told["entry"]
        self._config.stash[RESULTS].add(entry)
        self._repeats.note(entry["nodeid"].rpartition("::")[2], told["again"])
        self._ending.count(entry["result"])
        if told["ends"] is not None:
            self._ending.end(told["ends"])
        if self._ending.reason is not None:
            self._stop(at_once=False)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """End the examination if a process ended by itself."""
        output = getattr(node, "workeroutput", {})
        reason = output.get("shouldstop") or output.get("shouldfail")
        if not error and not reason:
            return
        self._ending.end(str(reason or f"the process {node.gateway.id} ended by itself"))
        self._stop(at_once=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[Any]:
        """Repeat what one of the processes has refused, as this process would have refused it."""
        try:
            return (yield)
        finally:
            self._refuse_too()

    def _refuse_too(self) -> None:
        """Raise the UsageError of another process, of which there are no results. Do nothing if
        there is none."""
        refused = self._folder / REFUSED
        if refused.exists():
            del self._config.stash[RESULTS]
            raise pytest.UsageError(refused.read_text(encoding="utf-8"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Put the failures that the terminal shows into the order of one job."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if (results := self._config.stash.get(RESULTS, None)) is None:
            return
        order = results.order
        for reports in reporter.stats.values() if reporter is not None else ():
            reports.sort(key=lambda report: order.get(getattr(report, "nodeid", ""), 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in lines_about(self._repeats.names):
            terminalreporter.write_line(line)
