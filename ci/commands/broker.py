"""`touchstone serve`, `fuzz`, `kills` and `bugs`: the readable broker, run and put to the test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import (
    ConfigFileOption,
    ConfigOption,
    JsonOption,
    check_above_zero,
    check_directory,
)
from ci.errors import UsageError


def serve(
    nodes: Annotated[int, typer.Option(help="Number of nodes, each a process.")] = 1,
    controllers: Annotated[
        int | None,
        typer.Option(
            help="Number of nodes that are also controllers (default: 3, or all if there are"
            " fewer)."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port of node 1 (default: 9092); node i listens at port + i - 1, and the"
            " controllers at the ports after those."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data directory (default: temporary).")] = None,
    config: ConfigOption = None,
    config_file: ConfigFileOption = None,
    cluster_id: Annotated[
        str | None,
        typer.Option(
            help="Format a new data directory for this cluster; refuse one of another cluster."
        ),
    ] = None,
    standalone: Annotated[
        bool,
        typer.Option(
            "--standalone", help="Format a new data directory for a quorum of this node alone."
        ),
    ] = False,
    initial_controllers: Annotated[
        str | None,
        typer.Option(
            help="Format a new data directory for these first voters: ID@host:port:DIRECTORY,…"
        ),
    ] = None,
    bug: Annotated[str | None, typer.Option(help="Plant a bug (touchstone bugs --list).")] = None,
) -> None:
    """Run the reference broker until Ctrl-C, one node or a cluster. Print one line when it is
    ready: `ready host:port`, with the address of each node."""
    from reference_impl.host.serve import main as serve_main

    arguments = ["--nodes", str(nodes)]
    arguments += ["--controllers", str(controllers)] if controllers is not None else []
    arguments += ["--port", str(port)] if port is not None else []
    arguments += ["--cluster-id", cluster_id] if cluster_id else []
    arguments += ["--standalone"] if standalone else []
    arguments += ["--initial-controllers", initial_controllers] if initial_controllers else []
    arguments += ["--data", str(data)] if data else []
    arguments += ["--config-file", str(config_file)] if config_file else []
    arguments += [word for pair in config or [] for word in ("--config", pair)]
    arguments += ["--bug", bug] if bug else []
    raise typer.Exit(serve_main(arguments))


def fuzz(
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1,
    seconds: Annotated[float, typer.Option(help="Length in seconds.")] = 60,
    first: Annotated[int, typer.Option(min=0, help="Number of the first case.")] = 0,
    cases: Annotated[
        int | None, typer.Option(help="Number of cases to run, instead of --seconds.")
    ] = None,
) -> None:
    """Fuzz the reference broker with the message schemas; exit 1 if it dies, leaks, or disturbs a
    well-behaved client."""
    from chaos.means import leftovers
    from reference_impl.robustness.fuzz.run import fuzz as run_fuzz

    check_above_zero(seconds=seconds, cases=cases)
    leftovers.remove_and_mark_children()
    outcome = run_fuzz(seed, seconds, first, cases)
    print(f"{outcome.cases:,} cases, {len(outcome.violations)} violations; {outcome.summary}")
    raise typer.Exit(1 if outcome.violations else 0)


def kills(
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1,
    kills: Annotated[int, typer.Option(help="Number of kills.")] = 200,
    nodes: Annotated[
        int, typer.Option(help="Number of nodes; of several, one at random is killed at a time.")
    ] = 1,
    bug: Annotated[str | None, typer.Option(help="Plant a bug (touchstone bugs --list).")] = None,
) -> None:
    """Kill -9 the reference broker, or one of its nodes, under load; exit 1 if it loses or
    duplicates acknowledged data."""
    from chaos.means import leftovers
    from reference_impl.bugs import BUGS
    from reference_impl.robustness.kills.run import run_kills

    if bug is not None and bug not in BUGS:
        raise UsageError(
            f"--bug {bug}: there is no such bug; `touchstone bugs --list` names them all"
        )
    check_above_zero(kills=kills, nodes=nodes)
    leftovers.remove_and_mark_children()
    outcome = run_kills(seed, kills, bug, nodes)
    print(outcome.summary())
    raise typer.Exit(1 if outcome.violations else 0)


def bugs(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run or list only these bugs; repeatable, or separated by commas."),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="reference: processes; sim: virtual time, with the bugs of clients, too."
        ),
    ] = "reference",
    seed: Annotated[int, typer.Option(help="Seed of the first run of each bug.")] = 1,
    attempts: Annotated[
        int | None,
        typer.Option("--runs", min=1, help="Maximum number of runs of each bug (3; in sim 20)."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Length of every run in seconds, or more if its bug needs it (30; in sim 20)."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=16, help="Number of runs in parallel.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Directory in which run directories are created.")
    ] = Path("runs"),
    show: Annotated[bool, typer.Option("--list", help="List the bugs and run nothing.")] = False,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option(help="Print the result as a Markdown table.")] = False,
) -> None:
    """Run every planted bug until its checker finds it, and the clean broker with the same seed.

    Exit status 1 if a bug is missed, the wrong side blamed or the clean broker accused.
    """
    from ci.bugs import Plan, bugs_as_json, render_bugs, run_bugs

    if show:
        print(bugs_as_json(only or []) if as_json else render_bugs(only or []))
        return
    if as_json and markdown:
        raise UsageError("--json and --markdown: give one of them")
    check_above_zero(seconds=seconds)
    check_directory("--out", out)
    form = "json" if as_json else "markdown" if markdown else "text"
    if target not in ("reference", "sim"):
        raise UsageError(f"--target {target}: give reference or sim, which alone have planted bugs")
    in_sim = target == "sim"
    plan = Plan(seed, attempts or (20 if in_sim else 3), seconds or (20 if in_sim else 30), jobs)
    raise typer.Exit(run_bugs(only or [], out, plan, simulated=in_sim, form=form))
