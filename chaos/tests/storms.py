"""Short storms of tests: as short as they can be, and longer on a machine that has other work."""

from __future__ import annotations

from typing import Any

from chaos.record import run_directory
from chaos.run.runner import RunResult, run

LONGEST_S = 60.0


def run_until_shown(
    target: str, workload: str, nemesis: str, *, seconds: float, **options: Any
) -> RunResult:
    """Make a run; one that has not shown what it is for is made again, twice as long, as the night
    does."""
    while True:
        result = run(target, workload, nemesis, seconds=seconds, progress=False, **options)
        not_shown = run_directory.read(result.directory).get("not_shown")
        if not not_shown or seconds > LONGEST_S:
            return result
        seconds *= 2
