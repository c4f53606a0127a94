"""Run every planted bug of the reference broker, and require a checker to catch it: `touchstone
bugs`.

A bug counts as caught when one of the checkers that it names finds it within a few runs, and the
clean broker is VALID in the same run. The command fails if a bug is missed, if only a checker that
the bug does not name found something, or if the clean broker is accused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ci.bugs.finding import exit_status
from ci.bugs.hunt import Hunt, chosen
from ci.bugs.pages import as_json, bugs_as_json, markdown, render_bugs, summary

__all__ = ["bugs_as_json", "render_bugs", "run_bugs"]


def run_bugs(
    only: Sequence[str],
    runs: Path,
    *,
    seed: int,
    attempts: int,
    seconds: float,
    jobs: int,
    form: str = "text",
) -> int:
    """Run the bugs and print the findings, even after Ctrl-C. Return the exit status.

    form: the form of the result on standard output: text, json or markdown. With json or markdown,
    progress goes to standard error.
    """
    output = sys.stdout if form == "text" else sys.stderr

    def say(line: str) -> None:
        print(line, file=output, flush=True)

    hunt = Hunt(chosen(only), runs, seed, attempts, seconds, jobs, say)
    try:
        hunt.perform()
    finally:
        page = {"text": summary, "json": as_json, "markdown": markdown}[form]
        print(page(hunt.findings), flush=True)
    return exit_status(hunt.findings)
