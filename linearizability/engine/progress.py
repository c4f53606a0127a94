"""How far Spark is, on one line of a terminal; nothing where standard error is none."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

EVERY_S = 0.5
_CLEAR_LINE = "\r\x1b[K"


@contextmanager
def progress_shown(context: SparkContext) -> Iterator[None]:
    """Say the running stages, with their tasks done and all, until the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def show() -> None:
        while not ended.wait(EVERY_S):
            print(f"{_CLEAR_LINE}{line(context)}", end="", file=sys.stderr, flush=True)

    shower = threading.Thread(target=show, name="spark-progress", daemon=True)
    shower.start()
    try:
        yield
    finally:
        ended.set()
        shower.join()
        print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def line(context: SparkContext) -> str:
    """Stage by stage: tasks done of all."""
    tracker = context.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
    running = [
        f"stage {info.stageId}: {info.numCompletedTasks}/{info.numTasks} tasks"
        for info in infos
        if info is not None
    ]
    return "spark: " + ("; ".join(running) or "planning")
