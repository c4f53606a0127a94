"""The command line `touchstone`: the composition root. Each sub-command imports what it needs.

Exit status everywhere: 0 valid or passed, 1 invalid or failed, 2 usage or environment error,
3 unknown (not judged, or not to the end).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ci.errors import UsageError, explain


class Group(TyperGroup):
    """Gives every error its sentence and its documented exit status (ci.errors)."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(explain(interrupt)) from interrupt
        except Exception as error:
            if isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "exit_code"):
                raise  # the command line's own: usage errors, --help
            raise typer.Exit(explain(error)) from error


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tells you whether a Kafka is a Kafka. Exit status: 0 valid or passed, 1 invalid or "
    "failed, 2 usage or environment error, 3 unknown.",
)
conform_app = typer.Typer(help="Examine a target case by case.", invoke_without_command=True)
chaos_app = typer.Typer(help="Attack a target and judge what its clients saw.")
app.add_typer(conform_app, name="conform")
app.add_typer(chaos_app, name="chaos")

TargetOption = Annotated[
    str | None,
    typer.Option(help="Start and use: reference, apache, apache:3.9, kfake, docker:apache."),
]
BootstrapOption = Annotated[
    str | None, typer.Option(help="Use what runs at host:port[,host:port…].")
]
ConfigOption = Annotated[
    list[str] | None, typer.Option("--config", help="key=value in Kafka's own names; repeatable.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MoreTargets = Annotated[
    list[str] | None, typer.Argument(metavar="[TARGET]…", help="More targets, after --targets.")
]
TargetsOption = Annotated[
    list[str] | None,
    typer.Option(help="apache:4.3.1 reference, unless named; repeatable, or with commas."),
]
RunsOption = Annotated[Path, typer.Option(help="Where run directories are made.")]
EngineOption = Annotated[str, typer.Option(help="Who judges: auto, local or spark.")]
SparkMasterOption = Annotated[str | None, typer.Option(help="local[*] or spark://host:port.")]


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """List each component: found or not, what is lost without it, what mends it."""
    from ci import doctor as doctor_module

    components = doctor_module.components()
    print(doctor_module.as_json(components) if as_json else doctor_module.render(components))


@app.command()
def serve(
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1,
    port: Annotated[int, typer.Option(help="Port of node 1; node i listens at port + i - 1.")] = (
        9092
    ),
    data: Annotated[Path | None, typer.Option(help="Data directory, else temporary.")] = None,
    config: ConfigOption = None,
    bug: Annotated[str | None, typer.Option(help="Plant a bug (see: touchstone bugs).")] = None,
) -> None:
    """Run the reference broker until Ctrl-C. Prints one `ready host:port` line."""
    from reference_impl.host.serve import main as serve_main

    arguments = ["--nodes", str(nodes), "--port", str(port)]
    arguments += ["--data", str(data)] if data else []
    arguments += [word for pair in config or [] for word in ("--config", pair)]
    arguments += ["--bug", bug] if bug else []
    raise typer.Exit(serve_main(arguments))


@conform_app.callback()
def conform(
    context: typer.Context,
    target: TargetOption = None,
    bootstrap: BootstrapOption = None,
    bug: Annotated[str | None, typer.Option(help="Plant a bug in the reference.")] = None,
    keyword: Annotated[str | None, typer.Option("-k", help="Only cases matching (pytest -k).")] = (
        None
    ),
    priority: Annotated[str, typer.Option(help="Cases up to P0, P1 or P2.")] = "P2",
    all_versions: Annotated[
        bool, typer.Option(help="Every shared version, not only the first and the last.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Examine a target: pass, fail or unsupported for every case."""
    if context.invoked_subcommand is not None:
        return
    if bool(target) == bool(bootstrap):
        raise UsageError("conform: give one of --target NAME or --bootstrap host:port")
    from ci.conform import examine, exit_status

    options = ["--target", target] if target else ["--bootstrap", str(bootstrap)]
    options += ["--priority", priority]
    options += ["--bug", bug] if bug else []
    options += ["-k", keyword] if keyword else []
    options += ["--all-versions"] if all_versions else []
    options += ["--junitxml", str(junit)] if junit else []
    results = examine(options, quiet=as_json)
    if as_json:
        print(json.dumps(results, indent=2))
    raise typer.Exit(exit_status(results))


@conform_app.command("list")
def conform_list(
    markdown: Annotated[bool, typer.Option(help="As a Markdown table.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the cases, and the APIs that have none."""
    from conformance.listing import list_cases

    print(list_cases("json" if as_json else "markdown" if markdown else "text"))


@chaos_app.command("run")
def chaos_run(
    target: Annotated[
        str, typer.Option(help="reference, apache, apache:3.9, kfake, docker:apache, FILE.toml …")
    ],
    workload: Annotated[str, typer.Option(help="What the clients do (touchstone chaos list).")],
    nemesis: Annotated[str, typer.Option(help="What goes wrong (touchstone chaos list).")] = "none",
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1,
    seconds: Annotated[float, typer.Option(help="Length of the attack.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1,
    rate: Annotated[float, typer.Option(help="Records a second, at most.")] = 400,
    client: Annotated[
        str, typer.Option(help="Whose clients do it: confluent (librdkafka), java or reference.")
    ] = "confluent",
    network: Annotated[
        str, typer.Option(help="What is between nodes: proxy (toxiproxy), or netns (root).")
    ] = "proxy",
    bug: Annotated[str | None, typer.Option(help="Plant a bug in the reference.")] = None,
    config: ConfigOption = None,
    runs: RunsOption = Path("runs"),
    engine: EngineOption = "auto",
    spark_master: SparkMasterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack a target for a while, then judge the recorded history and draw the report."""
    from ci.attack import attack, print_verdict

    if network not in ("proxy", "netns"):
        raise UsageError(f"--network {network}: say proxy or netns")
    target = f"netns:{target}" if network == "netns" else target

    outcome = attack(
        target=target, workload=workload, nemesis=nemesis, nodes=nodes, seconds=seconds, seed=seed,
        bug=bug, config=pairs(config), runs=runs, engine=engine, spark_master=spark_master,
        progress=not as_json, rate=rate, client=client,
    )  # fmt: skip
    print(outcome.to_json()) if as_json else print_verdict(outcome)
    raise typer.Exit(outcome.exit_status)


@chaos_app.command("list")
def chaos_list(
    markdown: Annotated[bool, typer.Option(help="As Markdown tables.")] = False,
) -> None:
    """List workloads, nemeses, targets, and which target can perform which fault."""
    from chaos.listing import list_markdown, list_text

    print(list_markdown() if markdown else list_text())


@chaos_app.command("probe")
def chaos_probe(
    fault: Annotated[str | None, typer.Option(help="Only this one, such as DiskStall.")] = None,
    every: Annotated[bool, typer.Option("--all", help="On Apache Kafka too (slow).")] = False,
    markdown: Annotated[bool, typer.Option(help="At the end, a table of fault × backend.")] = False,
) -> None:
    """Prove that each fault takes effect here and heals, and measure how long both take."""
    from chaos.listing import proofs_markdown
    from chaos.probes import run

    proofs = run.perform(run.chosen(fault, every), lambda proof: print(run.line(proof), flush=True))
    if markdown:
        print(f"\n{proofs_markdown(proofs)}")
    raise typer.Exit(run.exit_status(proofs))


@app.command()
def check(
    path: Annotated[
        Path | None,
        typer.Argument(help="A run directory, a history.parquet, a history.edn or .jsonl."),
    ] = None,
    engine: Annotated[str, typer.Option(help="auto, local (polars) or spark.")] = "auto",
    spark_master: SparkMasterOption = None,
    history_format: Annotated[
        str, typer.Option("--format", help="touchstone, jepsen, or auto: by the suffix.")
    ] = "auto",
    profile: Annotated[
        str, typer.Option(help="By whose rules: touchstone, or jepsen (the rest is reported only).")
    ] = "touchstone",
    stale_after: Annotated[
        float | None,
        typer.Option(min=0, show_default="60", help="Seconds that a reader may be kept waiting."),
    ] = None,
    explained: Annotated[
        bool, typer.Option("--explain", help="Write why: the fewest operations of each anomaly.")
    ] = False,
    as_json: JsonOption = False,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Judge the judges: valid and broken histories.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Histories of the self-test.")] = 200,
) -> None:
    """Judge a recorded history again, ours or Jepsen's; no cluster is needed."""
    if self_test:
        raise typer.Exit(_self_test(path, seeds))
    if path is None:
        raise UsageError("check: name a run directory or a history file, or ask for --self-test")
    from ci.attack import explain_verdict, judge, judge_foreign, print_verdict
    from linearizability.importers.formats import chosen_format

    is_jepsens = chosen_format(path, history_format) == "jepsen"
    judging = partial(judge_foreign, history_format="jepsen") if is_jepsens else judge
    outcome = judging(
        path, engine=engine, spark_master=spark_master, profile=profile, stale_after_s=stale_after
    )
    print(outcome.verdict.to_json()) if as_json else print_verdict(outcome)
    if explained:
        print(f"explained: {explain_verdict(outcome, history_format)}", file=sys.stderr)
    raise typer.Exit(outcome.exit_status)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    out: Annotated[Path | None, typer.Option(help="The HTML file to write.")] = None,
) -> None:
    """Draw the HTML report of a run again."""
    from ci.report import report_run

    print(report_run(run, out))


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(help="Length of the attack on Apache Kafka.")] = 30,
    out: Annotated[Path, typer.Option(help="Directory of the report and the runs.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Doctor, conformance, chaos, judges, canaries, report: everything once."""
    from ci.demo import run_demo

    raise typer.Exit(run_demo(seconds, out))


@app.command()
def nightly(
    more: MoreTargets = None,
    minutes: Annotated[float, typer.Option(help="Stop starting new scenarios after this.")] = 45,
    targets: TargetsOption = None,
    seed: Annotated[int, typer.Option(help="Chooses the seeds of the scenarios.")] = 1,
    runs: RunsOption = Path("runs"),
    seconds: Annotated[
        float | None, typer.Option(help="Length of every attack, else by target.")
    ] = None,
    keep_gib: Annotated[
        float, typer.Option(help="Delete runs of nights beyond this, the oldest green ones first.")
    ] = 20,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would run, and run nothing.")] = (
        False
    ),
) -> None:
    """Canaries, regressions and the matrix of scenarios, judged by Spark; summary and trend."""
    from ci.nightly import plan_text, run_nightly, targets_of

    named = targets_of([*(targets or ()), *(more or ())])
    if minutes <= 0 or keep_gib <= 0 or (seconds is not None and seconds <= 0):
        raise UsageError("nightly: --minutes, --seconds and --keep-gib must be above zero")
    if plan:
        print(plan_text(minutes, named, seed, seconds))
        return
    raise typer.Exit(run_nightly(minutes, named, seed, runs, keep_gib, seconds))


@app.command()
def scenarios(
    more: MoreTargets = None,
    targets: TargetsOption = None,
    table: Annotated[
        bool, typer.Option("--table", help="Run the guarantee tables; print each cell.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds to try until a loss is shown.")] = 3,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Take the runs that are there already.")
    ] = False,
    engine: EngineOption = "auto",
    runs: RunsOption = Path("runs"),
) -> None:
    """List the regressions with their expected verdicts; or run the documents' guarantee tables."""
    from ci.guarantees import list_scenarios, run_tables
    from ci.nightly import targets_of

    named = targets_of([*(targets or ()), *(more or ())])
    if not table:
        print(list_scenarios(named))
        return
    text, status = run_tables(named, runs, seeds, reuse, engine)
    print(f"\n{text}")
    raise typer.Exit(status)


@app.command()
def findings(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders of them.")],
    out: Annotated[Path, typer.Option(help="The page; its pictures go beside it.")] = Path(
        "docs/findings.md"
    ),
) -> None:
    """Write what runs have shown about claims: scenario, seed, verdict, picture, command."""
    from ci.findings import write_findings

    for finding in write_findings(runs, out):
        print(f"{finding.claim.id:<6} {finding.effects.lost:>7,} gone  {finding.claim.title}")
    print(out)


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="recorder, judges, broker.")] = None,
) -> None:
    """Measure speed and memory as ratios within one run; 1 if a bound is broken."""
    from ci.bench import run_bench

    raise typer.Exit(run_bench(names or []))


@app.command()
def fuzz(
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1,
    seconds: Annotated[float, typer.Option(help="How long to go on.")] = 60,
    first: Annotated[int, typer.Option(help="The case to begin with.")] = 0,
    cases: Annotated[
        int | None, typer.Option(help="So many cases, however long they take.")
    ] = None,
) -> None:
    """Schema-aware fuzz of the reference broker; 1 if it dies, leaks, or disturbs a good client."""
    from reference_impl.tests.fuzz.run import fuzz as run_fuzz

    outcome = run_fuzz(seed, seconds, first, cases)
    print(f"{outcome.cases:,} cases, {len(outcome.violations)} violations; {outcome.summary}")
    raise typer.Exit(1 if outcome.violations else 0)


@app.command()
def kills(
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1,
    kills: Annotated[int, typer.Option(help="How often the broker is killed.")] = 200,
    bug: Annotated[str | None, typer.Option(help="Plant a bug (see: touchstone bugs).")] = None,
) -> None:
    """kill -9 of the reference broker under load; 1 if anything is lost, or happens twice."""
    from reference_impl.bugs import BUGS
    from reference_impl.tests.kills.run import run_kills

    if bug is not None and bug not in BUGS:
        raise UsageError(f"kills: there is no bug {bug!r}; there are {', '.join(sorted(BUGS))}")
    outcome = run_kills(seed, kills, bug)
    print(outcome.summary())
    raise typer.Exit(1 if outcome.violations else 0)


@app.command()
def bugs() -> None:
    """List the planted bugs of the reference: what each breaks, and what must catch it."""
    from ci.bugs import render_bugs

    print(render_bugs())


def _self_test(path: Path | None, seeds: int) -> int:
    """Exit status 0: no false alarm and every planted anomaly caught; 1: not so; 3: idle judges."""
    from linearizability.self_test.runner import run_self_test
    from linearizability.verdict import EXIT_STATUS

    if path is not None:
        raise UsageError(f"check --self-test makes its histories itself; leave out {path}")
    result = run_self_test(range(seeds), _seeds_done(seeds), processes=os.cpu_count() or 1)
    print(result.table())
    print(f"self-test: {result.validity.value}")
    return EXIT_STATUS[result.validity]


def _seeds_done(seeds: int) -> Callable[[int], None]:
    """Says on a terminal how many seeds of the self-test are done."""

    def say(done: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done >= seeds else ""
            print(f"\rself-test: {done:,} of {seeds:,} seeds", end=end, file=sys.stderr, flush=True)

    return say


def pairs(config: list[str] | None) -> dict[str, str]:
    """["a=b"] -> {"a": "b"}; UsageError names a word that is not key=value."""
    result = {}
    for word in config or []:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise UsageError(f"--config {word!r}: write it as key=value, with Kafka's own key")
        result[key] = value
    return result


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point; ends the process with the documented exit status."""
    signal.signal(signal.SIGTERM, _interrupt)
    app()


if __name__ == "__main__":
    main()
