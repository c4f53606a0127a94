"""`touchstone sim`: search for failing schedules in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import JsonOption, RunsOption, check_above_zero, check_directory
from ci.errors import UsageError


def sim(
    seeds: Annotated[int, typer.Option(help="Number of schedules, each with its own seed.")] = 100,
    first_seed: Annotated[
        int, typer.Option(help="Seed of the first schedule; each next one is higher by 1.")
    ] = 1,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no schedule later than this after the start.")
    ] = None,
    bug: Annotated[str | None, typer.Option(help="Plant a bug (touchstone bugs --list).")] = None,
    runs: RunsOption = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """Run and judge many schedules of the reference broker and clients in virtual time.

    Exit status 1 if a schedule is invalid, 3 if more than 1 % are unknown. Runs that are not valid
    are kept.
    """
    from ci.simulation import Search, run_simulations
    from reference_impl.bugs.clients import CLIENT_BUGS
    from reference_impl.bugs.cluster import BROKER_BUGS

    if bug is not None and bug not in BROKER_BUGS and bug not in CLIENT_BUGS:
        raise UsageError(
            f"--bug {bug}: there is no such bug; `touchstone bugs --list` shows them all"
        )
    check_above_zero(seeds=seeds, minutes=minutes)
    if first_seed < 0:
        raise UsageError(f"--first-seed {first_seed}: must not be negative; seeds begin at 0")
    check_directory("--runs", runs)
    limit_s = None if minutes is None else minutes * 60
    search = Search(first_seed, seeds, runs, jobs, limit_s, bug)
    raise typer.Exit(run_simulations(search, in_json=as_json))
