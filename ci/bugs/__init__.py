"""Run every planted bug, and require a checker to catch it: `touchstone bugs`.

A bug counts as caught when one of the checkers that it names finds it within a few runs, and the
clean broker is VALID in the same run. The command fails if a bug is missed, if only a checker that
the bug does not name found something, if the clean broker is accused, or if the simulator blames
the broker for a bug of its clients or the other way round. If none of this happened but something
could not be judged, its exit status is 3.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.bugs.finding import exit_status
from ci.bugs.hunt import Hunt, chosen
from ci.bugs.pages import as_json, bugs_as_json, markdown, render_bugs, summary
from ci.bugs.simulated import SimulatedHunt, chosen_for_simulator

__all__ = ["Plan", "bugs_as_json", "render_bugs", "run_bugs"]


@dataclass(frozen=True)
class Plan:
    """The settings of a hunt. seed: that of each bug's first run. attempts_max: the most runs of a
    bug. seconds: how long each lasts, or longer if the bug needs it. jobs: how many run at once."""

    seed: int
    attempts_max: int
    seconds: float
    jobs: int


def run_bugs(
    only: Sequence[str], runs: Path, plan: Plan, *, simulated: bool = False, form: str = "text"
) -> int:
    """Hunt these bugs (all if none is named) and print the findings, even after Ctrl-C. Return the
    exit status. simulated: run them in virtual time. form: the form of the result on standard
    output: text, json or markdown. With json or markdown, progress goes to standard error. Raise
    UsageError for an unknown bug, KeyboardInterrupt after Ctrl-C."""
    output = sys.stdout if form == "text" else sys.stderr

    def say(line: str) -> None:
        print(line, file=output, flush=True)

    settings = (runs, plan.seed, plan.attempts_max, plan.seconds, plan.jobs, say)
    hunt: Hunt | SimulatedHunt
    if simulated:
        hunt = SimulatedHunt(chosen_for_simulator(only), *settings)
    else:
        hunt = Hunt(chosen(only), *settings)
    try:
        hunt.perform()
    finally:
        page = {"text": summary, "json": as_json, "markdown": markdown}[form]
        print(page(hunt.findings), flush=True)
    return exit_status(hunt.findings)
