"""`touchstone conform`: examine a target case by case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ci.commands.fuzzing import Attacked, FrameOption, FuzzOption, SeedOption, StepsOption, attack
from ci.commands.options import (
    BootstrapOption,
    ClusterOption,
    JsonOption,
    SarifOption,
    SummaryOption,
    TargetOption,
    check_above_zero,
    chosen_target,
)
from ci.errors import UsageError

conform_app = typer.Typer(help="Examine a target case by case.", invoke_without_command=True)


@conform_app.callback()
def conform(
    context: typer.Context,
    target: TargetOption = None,
    bootstrap: BootstrapOption = None,
    cluster: ClusterOption = None,
    nodes: Annotated[int, typer.Option(help="Number of brokers that --target starts: 1 or 3.")] = 1,
    bug: Annotated[str | None, typer.Option(help="Plant a bug in the reference broker.")] = None,
    keyword: Annotated[
        str | None,
        typer.Option("-k", help='Run only these ids or names: "IDEM-03 or metadata" (pytest -k).'),
    ] = None,
    priority: Annotated[str, typer.Option(help="Lowest priority to run: P0, P1 or P2.")] = "P2",
    all_versions: Annotated[
        bool, typer.Option(help="Test every shared version, not only the first and last.")
    ] = False,
    max_time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="End after this many seconds.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(metavar="N", help="End after this many failed cases.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results to this JSON file.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results to this JUnit XML file.")
    ] = None,
    sarif: SarifOption = None,
    summary: SummaryOption = None,
    as_json: JsonOption = False,
    fuzz: FuzzOption = None,
    seed: SeedOption = 1,
    frame: FrameOption = None,
    steps: StepsOption = None,
) -> None:
    """Examine a target: pass, fail or unsupported for every case. With --fuzz send it malformed
    requests and random operations instead, with --frame or --steps what such a run has found."""
    if context.invoked_subcommand is not None:
        return
    if bootstrap and (target or cluster):
        raise UsageError("conform: give one of --target, --cluster and --bootstrap")
    if fuzz or frame or steps:
        chosen_or_none = None if bootstrap else chosen_target(target, cluster)
        attacked = Attacked(chosen_or_none, bootstrap, nodes, bug, out, as_json)
        raise typer.Exit(attack(attacked, fuzz, seed, frame or [], steps))
    from ci.conform import check_writable, examine, exit_status
    from ci.report import pipelines

    check_above_zero(max_time=max_time, max_failures=max_failures)
    check_writable("--out", out)
    check_writable("--junit", junit)
    pipelines.check_places(sarif, summary)
    chosen = ["--bootstrap", bootstrap] if bootstrap else []
    options = chosen or ["--target", chosen_target(target, cluster)]
    options += ["--priority", priority]
    options += ["--nodes", str(nodes)] if nodes != 1 else []
    options += ["--bug", bug] if bug else []
    options += ["-k", keyword] if keyword else []
    options += ["--all-versions"] if all_versions else []
    options += ["--max-time", f"{max_time:g}"] if max_time else []
    options += ["--max-failures", str(max_failures)] if max_failures else []
    results = examine(options, quiet=as_json, out=out, junit=junit)
    pipelines.write_sarif(sarif, pipelines.sarif_of_examination(results))
    pipelines.write_summary(summary, pipelines.summary_of_examination(results))
    if as_json:
        print(json.dumps(results, indent=2))
    raise typer.Exit(exit_status(results))


@conform_app.command("list")
def conform_list(
    markdown: Annotated[bool, typer.Option(help="Print a Markdown table.")] = False,
    clauses: Annotated[
        bool, typer.Option(help="Print a Markdown table of what each case compares.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the cases, and the APIs that have none."""
    from conformance.reporting.clauses import clause_table
    from conformance.reporting.listing import all_cases, list_cases

    if clauses:
        print(clause_table(all_cases()))
        return
    print(list_cases("json" if as_json else "markdown" if markdown else "text"))
