"""Short storms of tests: as short as they can be, and longer on a machine that has other work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chaos.record import run_directory
from chaos.record.run_directory import Scenario
from chaos.run.result import RunResult
from chaos.run.runner import run

LONGEST_S = 60.0


def run_until_shown(scenario: Scenario, runs: Path) -> RunResult:
    """Make a run; one that has not shown what it is for is made again, twice as long, as the night
    does."""
    while True:
        result = run(scenario, runs, progress=False)
        not_shown = run_directory.read(result.directory).get("not_shown")
        if not not_shown or scenario.seconds > LONGEST_S:
            return result
        scenario = replace(scenario, seconds=2 * scenario.seconds)
