"""Show Spark's progress on one line of a terminal, and nothing if standard error is no terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

EVERY_S = 0.5
_CLEAR_LINE = "\r\x1b[K"

Stage = tuple[int, int, int]
"""(number of the stage, tasks done, all tasks)."""


@contextmanager
def progress_shown(session: SparkSession, is_connect: bool) -> Iterator[None]:
    """Show the running stages, with their finished and total tasks, until the block ends, and then
    clear the line. Do nothing if standard error is no terminal. is_connect: whether the session is
    one of Spark Connect."""
    if not sys.stderr.isatty():
        yield
        return
    try:
        with _told(session) if is_connect else _asked_for(session.sparkContext):
            yield
    finally:
        _show("")


@contextmanager
def _told(session: SparkSession) -> Iterator[None]:
    """Let a Connect server report its progress every two seconds inside the `with` block."""
    handler: Any = on_progress  # PySpark types it as a class of its own, and only calls it
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


def on_progress(*, stages: Iterable[Any] | None = None, **_: object) -> None:
    """Show the progress on standard error; PySpark calls this when a Connect server reports it."""
    running = [stage for stage in stages or () if not stage.done]
    _show(line((s.stage_id, s.num_completed_tasks, s.num_tasks) for s in running))


@contextmanager
def _asked_for(context: SparkContext) -> Iterator[None]:
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(EVERY_S):
            _show(line(running_stages(context)))

    asker = threading.Thread(target=ask, name="spark-progress", daemon=True)
    asker.start()
    try:
        yield
    finally:
        ended.set()
        asker.join()


def running_stages(context: SparkContext) -> list[Stage]:
    """Return the running stages that the driver knows, by number. A stage that ends meanwhile is
    left out."""
    tracker = context.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
    return [(i.stageId, i.numCompletedTasks, i.numTasks) for i in infos if i is not None]


def line(stages: Iterable[Stage]) -> str:
    """Return one line with the tasks done of all, stage by stage, or with "planning" if no stage
    runs."""
    running = [f"stage {number}: {done}/{tasks} tasks" for number, done, tasks in stages]
    return "spark: " + ("; ".join(running) or "planning")


def _show(text: str) -> None:
    print(f"{_CLEAR_LINE}{text}", end="", file=sys.stderr, flush=True)
