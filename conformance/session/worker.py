"""One of the processes that run cases beside each other (--jobs), started by pytest-xdist.

A target that is started here is started once for each process: what a case does to its target, no
other process sees. A cluster that runs elsewhere is shared: a case that fails there beside others
runs again alone, and some cases only run alone (units.py). Each process has names of its own, and
removes what its cases have made.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from chaos.means import ports
from chaos.run.interrupts import SIGNALS
from chaos.values.protocols import TargetError
from conformance.invariants.put_off import PUT_OFF
from conformance.patience import PATIENCE
from conformance.session.again import (
    BESIDE,
    HAS_COMPANY,
    IS_LOST,
    Repeats,
    needs_another_run,
    reasons_of,
)
from conformance.session.ending import Ending
from conformance.session.keys import ENDING, EXAMINED, INTERRUPTS
from conformance.session.turns import Turns
from conformance.session.units import ALONE, Versions, planned

INPUT = "touchstone"
"""The key of what a process is told at its start, in xdist's workerinput."""
PLAN, REFUSED, STOP, TOLD, PIDS = "plan.json", "refused", "stop", "told", "pids"
"""The files, and the folders, by which the processes tell each other something."""


def runs_beside_others(config: pytest.Config) -> bool:
    """Return whether this process is one of those that --jobs has started."""
    return INPUT in getattr(config, "workerinput", {})


class Worker:
    """The knowledge of one of the processes about itself and the others."""

    def __init__(self, told: dict[str, Any]) -> None:
        """Take over what the process that distributes the cases says (jobs.Jobs.told)."""
        self.number: int = told["number"]
        """From 0 on."""
        self.is_shared: bool = told["is_shared"]
        """Whether all processes examine one and the same cluster."""
        self.began: float = told["began"]
        self.folder = Path(told["folder"])
        self._ports: str = told["ports"]
        self._turns = Turns(self.folder)
        self._units: dict[str, str] = {}

    @staticmethod
    def of(config: pytest.Config) -> Worker | None:
        """Return this process as a Worker, or None if it runs the cases of an examination by
        itself, or distributes them."""
        if not runs_beside_others(config):
            return None
        return Worker(json.loads(config.workerinput[INPUT]))  # type: ignore[attr-defined]

    def settle_in(self) -> None:
        """Use ports of our own, share the kinds of broken invariants that were told, and let the
        process that distributes the cases know our process id. Raise UsageError if the examination
        is over already."""
        os.environ[ports.VARIABLE] = self._ports
        os.environ.pop("PYTHONSAFEPATH", None)  # it was for this process, not for its brokers
        PUT_OFF.tell_others(ToldByAll(self.folder / TOLD))
        (self.folder / PIDS / str(os.getpid())).touch()
        if (reason := self.told_to_stop()) is not None:  # before it knew our id
            raise pytest.UsageError(reason)

    def plan(self, items: list[pytest.Item], advertised: Versions, *, by_size: bool) -> None:
        """Put the items into the order in which they are handed out (by_size as in units.planned);
        the first process tells the plan to the one that distributes them."""
        found = planned(items, advertised, is_shared=self.is_shared, by_size=by_size)
        self._units = found.units
        if self.number == 0:
            found.save(self.folder / PLAN)

    def told_to_stop(self) -> str | None:
        """Return the reason why no further case may begin, or None."""
        try:
            return (self.folder / STOP).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    @contextmanager
    def refusals_told(self) -> Iterator[None]:
        """Let the process that distributes the cases repeat a UsageError or TargetError of the
        block, which xdist would show as a traceback."""
        try:
            yield
        except (pytest.UsageError, TargetError) as error:
            (self.folder / REFUSED).write_text(str(error), encoding="utf-8")
            raise

    @contextmanager
    def turn(self, item: pytest.Item, *, alone: bool) -> Iterator[None]:
        """Let the item run in the block: alone, or at least while no other is alone. Targets of our
        own need no turns."""
        item.stash[HAS_COMPANY] = self.is_shared and not alone
        turn = self._turns.alone if alone else self._turns.beside
        with turn() if self.is_shared else nullcontext():
            yield

    def needs_to_be_alone(self, item: pytest.Item) -> bool:
        return self._units.get(item.nodeid) == ALONE

    def clear_up(self, config: pytest.Config) -> None:
        """Stop our target, or remove what our cases have made, while none runs alone. xdist ends
        this process soon after it has said that it is done."""
        config.stash[ENDING].stop()
        with self._turns.beside() if self.is_shared else nullcontext():
            config.stash[EXAMINED].stop(config.stash[ENDING].removal_s())
        del config.stash[EXAMINED]


WORKER = pytest.StashKey[Worker]()
"""Set in a process that runs cases beside others."""


class ToldByAll:
    """The kinds of broken invariants that any of the processes has told: a file for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, kind: str) -> Path:
        return self._folder / hashlib.sha256(kind.encode()).hexdigest()

    def __contains__(self, kind: object, /) -> bool:
        return self._file(str(kind)).exists()

    def add(self, kind: str, /) -> None:
        self._file(kind).touch()

    def clear(self) -> None:
        """Do nothing: a process that begins does not speak for the others."""


class Interruptions:
    """A context in which SIGINT and SIGTERM end the examination in this process: they interrupt the
    running case, and otherwise the next one does not begin."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._previous: dict[int, Any] = {}
        self._in_case = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let a signal raise KeyboardInterrupt in the block, once."""
        self._in_case = True
        try:
            yield
        finally:
            self._in_case = False

    def __enter__(self) -> None:
        for number in SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def shield(self) -> None:
        """Interrupt nothing from now on."""
        self._in_case = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._ending.end_now("interrupted")
        if self._in_case:
            self._in_case = False
            raise KeyboardInterrupt


class RepeatsInTurn(Repeats):
    """The same as Repeats, in a process that runs cases beside others."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Plan who runs what, once -k has dropped what it does not match."""
        by_size = config.getoption("--max-time") is None
        config.stash[WORKER].plan(items, config.stash[EXAMINED].advertised, by_size=by_size)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run the case when it may, and report only its last run. Run nothing, and let the session
        end, if the examination is over, or once it is interrupted."""
        config = item.config
        worker, ending = config.stash[WORKER], config.stash[ENDING]
        if (reason := worker.told_to_stop() or ending.reason) is not None:
            ending.end(reason)
            item.session.shouldstop = reason
            return True
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            with config.stash[INTERRUPTS].raised():
                reports = self._in_turn(worker, item, nextitem)
        except KeyboardInterrupt:
            ending.end("interrupted")
            reports = []
        if IS_LOST in item.stash or not reports:
            item.session.shouldstop = ending.reason or False
            return True
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _in_turn(
        self, worker: Worker, item: pytest.Item, nextitem: pytest.Item | None
    ) -> list[pytest.TestReport]:
        alone, memory = worker.needs_to_be_alone(item), PATIENCE.memory()
        while True:
            with worker.turn(item, alone=alone):
                reports = runtestprotocol(item, log=False, nextitem=nextitem)
            if not needs_another_run(item):
                return reports
            if not alone and BESIDE in reasons_of(item):
                alone = True
                PATIENCE.restore(memory)
