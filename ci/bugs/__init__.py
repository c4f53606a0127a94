"""`touchstone bugs`: every planted bug of the reference is run, and must be caught.

A bug counts as caught when one of the checkers that it names finds it within a few runs, and the
clean broker is VALID in the same run. Red if a bug goes by, if only an unrelated checker found
something, or if the clean broker is accused.
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
    """Hunt, and print what was found, also after Ctrl-C. Return the exit status.

    form: the form of the result on standard output: text, json or markdown; with the last two,
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
