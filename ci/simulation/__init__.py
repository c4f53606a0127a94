"""`touchstone sim`: run and judge many schedules in virtual time; a seed repeats its schedule."""

from __future__ import annotations

import sys
import time

from ci.simulation.pages import as_json, finding, summary
from ci.simulation.schedule import Outcome
from ci.simulation.search import Search, exit_status
from linearizability.verdict import Validity

__all__ = ["Search", "run_simulations"]

TELL_EVERY_S = 5.0


def run_simulations(search: Search, *, in_json: bool) -> int:
    """Perform the schedules and print the findings, also after Ctrl-C. Return the exit status.
    Raise KeyboardInterrupt after Ctrl-C, unless a schedule was found INVALID: then the status is 1.

    A schedule that is not valid is reported at once, on standard error if the result is JSON.
    """
    output = sys.stderr if in_json else sys.stdout
    told_at = time.monotonic()

    def tell(outcome: Outcome) -> None:
        nonlocal told_at
        if outcome.validity is not Validity.VALID:
            print(finding(outcome), file=output, flush=True)
        if time.monotonic() - told_at >= TELL_EVERY_S:
            told_at = time.monotonic()
            so_far = f"{len(search.outcomes):,} of {search.seeds:,} schedules"
            print(so_far, file=sys.stderr, flush=True)

    try:
        search.perform(tell)
    except KeyboardInterrupt:
        if exit_status(search.outcomes) != 1:
            raise
    finally:
        print(as_json(search) if in_json else summary(search), flush=True)
    return exit_status(search.outcomes)
