"""`touchstone nightly`, `scenarios` and `findings`: many runs, and what they have shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import (
    ClusterOption,
    EngineOption,
    JsonOption,
    MoreTargets,
    RunsOption,
    TargetsOption,
    check_above_zero,
    check_directory,
    check_judges,
    chosen_target,
)
from ci.errors import UsageError


def nightly(
    more: MoreTargets = None,
    minutes: Annotated[float, typer.Option(help="Start no scenario after these minutes.")] = 45,
    targets: TargetsOption = None,
    cluster: ClusterOption = None,
    seed: Annotated[int, typer.Option(help="Seed from which the scenarios' seeds are drawn.")] = 1,
    runs: RunsOption = Path("runs"),
    seconds: Annotated[
        float | None, typer.Option(help="Seconds of every attack (default: each scenario's own).")
    ] = None,
    keep_gib: Annotated[
        float, typer.Option(help="Keep at most this many GiB of nightly runs.")
    ] = 20,
    jobs: Annotated[
        int, typer.Option(min=1, max=16, help="Parallel scenarios; at most one on Apache Kafka.")
    ] = 1,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would run, without running it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the --plan as JSON.")] = False,
) -> None:
    """Fuzz and kill the reference broker if it is a target; then run canaries, regressions and the
    matrix of scenarios, judged by Spark where Java is found; print summary and trend."""
    from ci.nightly import planned, run_nightly

    own = [chosen_target(None, cluster)] if cluster else None
    named = targets_named(own, targets, more)
    check_directory("--runs", runs)
    check_above_zero(minutes=minutes, keep_gib=keep_gib, seconds=seconds)
    if as_json and not plan:
        raise UsageError("nightly: --json needs --plan; a night writes its own nightly.json")
    if plan:
        found = planned(minutes, named, seed, seconds, jobs)
        print(found.json() if as_json else found.text())
        return
    raise typer.Exit(run_nightly(minutes, named, seed, runs, keep_gib, seconds, jobs))


def scenarios(
    more: MoreTargets = None,
    targets: TargetsOption = None,
    table: Annotated[
        bool, typer.Option("--table", help="Run the guarantee tables; print each cell.")
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Maximum seeds for a cell that allows an anomaly.")
    ] = 3,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Use the results of existing runs.")
    ] = False,
    engine: EngineOption = "auto",
    runs: RunsOption = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the regression scenarios and their expected verdicts, or run the guarantee tables."""
    from ci.guarantees import list_scenarios, run_tables, scenarios_as_json
    from ci.nightly.plan import check_targets

    named = targets_named(targets, more)
    if table and as_json:
        raise UsageError("--table and --json: give one of them")
    if not table:
        print(scenarios_as_json(named) if as_json else list_scenarios(named))
        return
    check_judges(engine)
    check_directory("--runs", runs)
    check_targets(named)
    text, status = run_tables(named, runs, seeds, reuse, engine)
    print(f"\n{text}")
    raise typer.Exit(status)


def findings(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders of them.")],
    out: Annotated[Path, typer.Option(help="The page to write; its pictures go beside it.")] = Path(
        "docs/findings.md"
    ),
) -> None:
    """Write a page on what runs have shown about published claims, with pictures and commands."""
    from ci.findings import write_findings
    from ci.report.pipelines import check_place

    check_place("--out", out)
    for finding in write_findings(runs, out):
        print(f"{finding.claim.id:<6} {finding.effects.lost:>7,} gone  {finding.claim.title}")
    print(out)


def targets_named(*words: list[str] | None) -> tuple[str, ...]:
    """Return the named targets, or the default ones if none is named. Raise UsageError if the words
    contain no name."""
    from ci.nightly import targets_of

    given = [word for each in words for word in each or ()]
    if given and not any(word.strip(", ") for word in given):
        raise UsageError("--targets names nothing; name targets, such as apache:4.3.1,reference")
    return targets_of(given)
