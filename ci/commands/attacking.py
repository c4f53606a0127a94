"""`touchstone chaos`: attack a target, and prove that faults take effect here."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chaos.record.run_directory import RATE, Scenario
from ci.commands.grouping import grouped
from ci.commands.options import (
    ClusterOption,
    ConfigFileOption,
    ConfigOption,
    EngineOption,
    JsonOption,
    RunsOption,
    SarifOption,
    SparkMasterOption,
    SummaryOption,
    check_above_zero,
    check_directory,
    check_judges,
    chosen_target,
    settings,
    typed,
)
from ci.errors import UsageError

if TYPE_CHECKING:
    from chaos.probes.frame import Proof

chaos_app = typer.Typer(help="Attack a target and judge the history that its clients recorded.")


@dataclass(frozen=True)
class ScenarioOptions:
    """The command-line options that describe a run."""

    workload: Annotated[
        str, typer.Option(help="The workload of the clients (touchstone chaos list).")
    ]
    target: Annotated[
        str | None,
        typer.Option(help="reference, apache, apache:3.9, kfake, docker:apache, FILE.toml …"),
    ] = None
    cluster: ClusterOption = None
    nemesis: Annotated[
        str, typer.Option(help="The schedule of faults (touchstone chaos list).")
    ] = "none"
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 1
    seconds: Annotated[float, typer.Option(help="Length of the attack in seconds.")] = 30
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 1
    rate: Annotated[float, typer.Option(help="Maximum records per second.")] = RATE
    client: Annotated[
        str, typer.Option(help="Client library: confluent (librdkafka), java or reference.")
    ] = "confluent"
    network: Annotated[
        str, typer.Option(help="How links are cut: proxy (toxiproxy) or netns (needs root).")
    ] = "proxy"
    bug: Annotated[str | None, typer.Option(help="Plant a bug (touchstone bugs --list).")] = None
    config: ConfigOption = None
    config_file: ConfigFileOption = None

    def scenario(self) -> Scenario:
        """Return the scenario that the options describe. Raise UsageError if they are wrong."""
        if self.network not in ("proxy", "netns"):
            raise UsageError(f"--network {self.network}: give proxy or netns")
        check_above_zero(nodes=self.nodes, seconds=self.seconds, rate=self.rate)
        chosen = chosen_target(self.target, self.cluster)
        return Scenario(
            f"netns:{chosen}" if self.network == "netns" else chosen,
            self.workload,
            self.nemesis,
            self.nodes,
            self.seconds,
            self.seed,
            settings(self.config, self.config_file),
            self.bug,
            self.rate,
            self.client,
            typed(self.config, self.config_file),
        )


@chaos_app.command("run")
@grouped
def chaos_run(
    wanted: ScenarioOptions,
    runs: RunsOption = Path("runs"),
    stale_after: Annotated[
        float | None,
        typer.Option(min=0, show_default="60", help="Seconds a reader may wait for a new record."),
    ] = None,
    engine: EngineOption = "auto",
    spark_master: SparkMasterOption = None,
    sarif: SarifOption = None,
    summary: SummaryOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a target for a while, then judge the recorded history and draw the report."""
    from ci.attack import attack, print_verdict
    from ci.report import pipelines

    check_judges(engine, spark_master)
    check_directory("--runs", runs)
    pipelines.check_places(sarif, summary)
    outcome = attack(
        wanted.scenario(),
        runs,
        engine=engine,
        spark_master=spark_master,
        progress=not quiet,
        stale_after_s=stale_after,
    )
    print(outcome.to_json()) if as_json else print_verdict(outcome)
    pipelines.write_sarif(sarif, pipelines.sarif_of_verdict(outcome))
    pipelines.write_summary(summary, (outcome.path / "summary.md").read_text(encoding="utf-8"))
    raise typer.Exit(outcome.exit_status)


@chaos_app.command("matrix")
def chaos_matrix(
    target: Annotated[str, typer.Option(help="The target of every run.")] = "reference",
    nodes: Annotated[int, typer.Option(help="Number of nodes.")] = 3,
    workload: Annotated[
        list[str] | None,
        typer.Option(help="A workload of `chaos list`; repeatable (default: four of them)."),
    ] = None,
    nemesis: Annotated[
        list[str] | None,
        typer.Option(help="A nemesis of `chaos list`; repeatable (default: eight of them)."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of each attack in seconds.")] = 60,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds of each combination.")] = 1,
    runs: RunsOption = Path("runs"),
    engine: EngineOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Run each workload under each nemesis with each seed, and print a table of the results."""
    from chaos.run.fitting import nemesis_named, workload_named
    from chaos.targets import parse_target
    from ci.nightly.matrix import (
        NEMESES,
        WORKLOADS,
        exit_status,
        markdown,
        rows_as_json,
        run_matrix,
        scenarios_of,
    )

    check_above_zero(nodes=nodes, seconds=seconds)
    check_judges(engine)
    check_directory("--runs", runs)
    workloads, nemeses = workload or WORKLOADS, nemesis or NEMESES
    parse_target(target)
    for name in workloads:
        workload_named(name)
    for name in nemeses:
        nemesis_named(name)  # refuse a wrong name before the first run
    first = Scenario(target, workloads[0], nemeses[0], nodes, seconds, seed)
    progress = sys.stderr if as_json else sys.stdout
    rows = run_matrix(scenarios_of(first, workloads, nemeses, seeds), runs, engine, progress)
    print(rows_as_json(rows) if as_json else f"\n{markdown(rows)}")
    raise typer.Exit(exit_status(rows))


@chaos_app.command("list")
def chaos_list(
    cluster: ClusterOption = None,
    markdown: Annotated[bool, typer.Option(help="Print Markdown tables.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List workloads, nemeses, targets, and which target can perform which fault; and which nemeses
    your own cluster allows."""
    from chaos.listing import list_for, list_json, list_markdown, list_text
    from chaos.targets import parse_target
    from chaos.targets.foreign.target import usual_file

    described = cluster or usual_file(Path.cwd())
    own = parse_target(chosen_target(None, cluster)) if described else None
    if as_json:
        print(list_json(own))
        return
    print(list_markdown() if markdown else list_text())
    if own is not None:
        print(f"\n{list_for(own)}")


@chaos_app.command("probe")
def chaos_probe(
    fault: Annotated[
        str | None, typer.Option(help="Prove only this fault, such as DiskStall.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Run the slow probes on Apache Kafka, too.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option(help="Print a table of fault × backend at the end.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Prove that each fault takes effect here and heals, and measure how long both take."""
    from chaos.listing import proofs_json, proofs_markdown
    from chaos.probes import run

    def told(proof: Proof) -> None:
        print(run.line(proof), file=sys.stderr if as_json else sys.stdout, flush=True)

    proofs = run.perform(run.chosen(fault, every), told)
    if as_json:
        print(proofs_json(proofs))
    elif markdown:
        print(f"\n{proofs_markdown(proofs)}")
    raise typer.Exit(run.exit_status(proofs))
