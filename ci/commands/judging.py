"""`touchstone check`, `report` and `ui`: judge and show what was recorded, without a cluster."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import JsonOption, SparkMasterOption, check_directory, check_judges
from ci.errors import UsageError

LINE_EVERY_S = 60
"""The longest time in seconds between two progress lines of a self-test."""


def check(
    path: Annotated[
        Path | None,
        typer.Argument(help="A run directory, a history.parquet, a history.edn or .jsonl."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="The engine: auto, local (polars) or spark.")
    ] = "auto",
    spark_master: SparkMasterOption = None,
    history_format: Annotated[
        str,
        typer.Option("--format", help="touchstone, jepsen, a plugin's, or auto (by the suffix)."),
    ] = "auto",
    profile: Annotated[
        str, typer.Option(help="The rules by which a history is invalid: touchstone or jepsen.")
    ] = "touchstone",
    stale_after: Annotated[
        float | None,
        typer.Option(min=0, show_default="60", help="Seconds a reader may wait for a new record."),
    ] = None,
    explained: Annotated[
        bool,
        typer.Option(
            "--explain", help="Write a page: the fewest operations that show each anomaly."
        ),
    ] = False,
    as_json: JsonOption = False,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Test the checkers on valid and broken histories.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Number of histories for --self-test.")] = 200,
    fuzz: Annotated[
        int | None, typer.Option(min=1, help="Test the readers on this many damaged files.")
    ] = None,
    first_seed: Annotated[
        int, typer.Option(min=0, help="First seed of --self-test or --fuzz.")
    ] = 0,
) -> None:
    """Judge a recorded history, Touchstone's or Jepsen's; no cluster is needed."""
    if self_test:
        raise typer.Exit(_self_test(path, range(first_seed, first_seed + seeds)))
    if fuzz is not None:
        raise typer.Exit(_fuzz(path, range(first_seed, first_seed + fuzz)))
    if path is None:
        raise UsageError("check: name a run directory or a history, or give --self-test or --fuzz")
    check_judges(engine, spark_master)
    from ci.attack import explain_verdict, judge, judge_foreign, print_verdict
    from linearizability.importers.formats import OURS, chosen_format

    chosen = chosen_format(path, history_format)
    judging = judge if chosen == OURS else partial(judge_foreign, history_format=chosen)
    outcome = judging(
        path, engine=engine, spark_master=spark_master, profile=profile, stale_after_s=stale_after
    )
    print(outcome.verdict.to_json()) if as_json else print_verdict(outcome)
    if explained:
        print(f"explained: {explain_verdict(outcome, history_format)}", file=sys.stderr)
    raise typer.Exit(outcome.exit_status)


def report(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path | None, typer.Option(help="The HTML file (default: in the run).")] = None,
) -> None:
    """Draw the HTML report of a run again, with its summary.md, and print the path of the
    report."""
    from ci.report.building import report_run
    from ci.report.pipelines import check_place

    check_place("--out", out)
    print(report_run(run, out))


def ui(
    runs: Annotated[Path, typer.Argument(help="A directory of runs.")] = Path("runs"),
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = 8000,
    static: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write the page here instead of serving it.")
    ] = None,
) -> None:
    """Show all runs in a local page: filter, compare, follow a scenario over the nights."""
    from ci.ui import serve, write_static

    if static is None:
        serve(runs, port)
    else:
        check_directory("--static", static)
        print(write_static(runs, static))


def _self_test(path: Path | None, seeds: range) -> int:
    """Return exit status 0 if there was no false alarm and every planted anomaly was caught, 1 if
    not, 3 if an anomaly could not be planted in any history. Raise UsageError if a path is
    given."""
    from linearizability.self_test.runner import run_self_test
    from linearizability.verdict import EXIT_STATUS

    if path is not None:
        raise UsageError(f"check --self-test makes its histories itself; leave out {path}")
    result = run_self_test(seeds, _seeds_done(len(seeds)), processes=os.cpu_count() or 1)
    print(result.table())
    print(f"self-test: {result.validity.value}")
    return EXIT_STATUS[result.validity]


def _fuzz(path: Path | None, seeds: range) -> int:
    """Return exit status 0 if each file was either refused with a sentence or judged completely, 1
    if not, 3 if no file was refused or none was judged. Raise UsageError if a path is given."""
    from linearizability.fuzz.runner import run_fuzz
    from linearizability.verdict import EXIT_STATUS

    if path is not None:
        raise UsageError(f"check --fuzz makes its files itself; leave out {path}")
    result = run_fuzz(seeds, _seeds_done(len(seeds), what="fuzz"), processes=os.cpu_count() or 1)
    print(result.table())
    print(f"fuzz: {result.validity.value}")
    return EXIT_STATUS[result.validity]


def _seeds_done(
    seeds: int, clock: Callable[[], float] = time.monotonic, what: str = "self-test"
) -> Callable[[int], None]:
    """Return a function that prints on standard error how many seeds are done. On a terminal it
    updates one line. Otherwise it prints a new line at the start, after every 5 % of the seeds, at
    the end, and if LINE_EVERY_S seconds have passed since the last line."""
    told, told_at = 0, clock()

    def say(done: int) -> None:
        nonlocal told, told_at
        line = f"{what}: {done:,} of {seeds:,} seeds"
        if sys.stderr.isatty():
            end = "\n" if done >= seeds else ""
            print(f"\r{line}", end=end, file=sys.stderr, flush=True)
        elif (
            not done
            or done >= seeds
            or 20 * (done - told) >= seeds
            or clock() - told_at >= LINE_EVERY_S
        ):
            told, told_at = done, clock()
            print(line, file=sys.stderr, flush=True)

    return say
