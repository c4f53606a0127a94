"""Perform many schedules in several processes, and collect their outcomes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.connection import wait as wait_for_any
from pathlib import Path

from chaos.record.run_directory import Scenario
from chaos.values.protocols import TargetError
from ci.simulation.plans import plan_of
from ci.simulation.schedule import Outcome, perform
from linearizability.verdict import Validity

AHEAD = 3
"""The number of schedules handed to the pool per process, enough that no process is ever idle."""
GARBAGE_THRESHOLD = 50_000
END_TIMEOUT_S = 3.0


@dataclass
class Search:
    """The seeds to try, and the outcomes so far, by seed."""

    first_seed: int
    seeds: int
    runs: Path
    jobs: int = 1
    limit_s: float | None = None
    """The seconds after which no further schedule is started."""
    bug: str | None = None
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    took_s: float = 0.0

    def perform(self, tell: Callable[[Outcome], None]) -> None:
        """Run the seeds until all are done or the time is over. tell: called with each outcome when
        it is ready, in any order. Raise TargetError if a process of the pool was ended from
        outside.

        After KeyboardInterrupt, which is passed on, drop the schedules in progress and keep the
        outcomes so far.
        """
        began = time.monotonic()
        seeds = self._seeds(began)
        # Fresh processes: a forked one would inherit locks of threads that it does not have.
        pool = ProcessPoolExecutor(
            self.jobs, multiprocessing.get_context("spawn"), initializer=prepare
        )
        try:
            with tempfile.TemporaryDirectory(prefix="touchstone-sim-") as scratch:
                for outcome in self._outcomes(pool, seeds, Path(scratch)):
                    self.outcomes[outcome.seed] = outcome
                    tell(outcome)
        except BrokenProcessPool as error:
            raise TargetError(
                "a process of the simulation was ended from outside (memory?); give fewer --jobs"
            ) from error
        except BaseException:
            end_processes()
            raise
        finally:
            self.took_s = time.monotonic() - began
            pool.shutdown(wait=True, cancel_futures=True)

    def _outcomes(
        self, pool: ProcessPoolExecutor, seeds: Iterator[int], scratch: Path
    ) -> Iterator[Outcome]:
        """Yield outcomes as they arrive, and hand over enough seeds that no process is idle."""
        under_way = set[Future[Outcome]]()
        while True:
            for seed in islice(seeds, AHEAD * self.jobs - len(under_way)):
                under_way.add(pool.submit(perform, self.planned(seed), self.runs, scratch))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)

    def planned(self, seed: int) -> Scenario:
        """Return the plan of a seed; if a bug is to be planted, the plan contains it."""
        return replace(plan_of(seed), bug=self.bug)

    def _seeds(self, began: float) -> Iterator[int]:
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            if self.limit_s is not None and time.monotonic() - began > self.limit_s:
                return
            yield seed


def prepare() -> None:
    """Prepare a process of the pool: ignore Ctrl-C, which the parent handles; end when the parent
    dies; and run the garbage collector rarely, and never over imported modules."""
    os.setsid()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def end_processes() -> None:
    """Terminate the processes of the pool, and kill each that still runs after END_TIMEOUT_S."""
    children = multiprocessing.active_children()
    for child in children:
        child.terminate()
    for child in children:
        child.join(END_TIMEOUT_S)
        if child.is_alive():
            child.kill()


def _end_with(sentinel: int) -> None:
    wait_for_any([sentinel])
    os._exit(1)


def exit_status(outcomes: dict[int, Outcome]) -> int:
    """Return 1 if a schedule is invalid, 3 if more than 1 % are unknown or there are none, else
    0."""
    endings = [one.validity for one in outcomes.values()]
    if Validity.INVALID in endings:
        return 1
    unknown = sum(ending is not Validity.VALID for ending in endings)
    return 3 if not endings or unknown > len(endings) / 100 else 0
