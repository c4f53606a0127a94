"""`touchstone conform`: examine a target case by case."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ci.commands.fuzzing import Attacked, FrameOption, FuzzOption, SeedOption, StepsOption, attack
from ci.commands.grouping import grouped
from ci.commands.options import (
    BootstrapOption,
    ClusterOption,
    JsonOption,
    MaxTimeOption,
    SarifOption,
    SummaryOption,
    TargetOption,
    check_above_zero,
    check_filled,
    chosen_target,
)
from ci.errors import UsageError

if TYPE_CHECKING:
    from ci.compare.profiles import Profile
    from conformance.reporting.baseline import Difference, Known

CASE_ID = re.compile(r"[A-Za-z]+\d*-\d+")


class CasesOrCommand(TyperGroup):
    """A group of commands that also takes the ids of cases in the place of a command's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments as usual if one of them is a command's name. Else leave the ids of
        cases in `ctx.args`, whether they come before, between or after the options."""
        if any(word in self.commands for word in args):
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        super().parse_args(ctx, args)
        ctx.args = [*ctx._protected_args, *ctx.args]
        ctx._protected_args = []
        return list(ctx.args)


conform_app = typer.Typer(
    cls=CasesOrCommand,
    help="Examine a target case by case.",
    invoke_without_command=True,
    subcommand_metavar="[ID]… | COMMAND [ARGS]…",
)


@dataclass(frozen=True)
class Cluster:
    """The options that name the cluster to examine."""

    target: TargetOption = None
    bootstrap: BootstrapOption = None
    cluster: ClusterOption = None
    nodes: Annotated[int, typer.Option(help="Number of brokers that --target starts: 1 or 3.")] = 1
    bug: Annotated[str | None, typer.Option(help="Plant a bug (touchstone bugs --list).")] = None

    def words(self) -> list[str]:
        """Return the options of pytest that name the cluster. Raise UsageError, as `chosen_target`
        does, if not exactly one is named."""
        if self.bootstrap:
            words = ["--bootstrap", self.bootstrap]
        else:
            words = ["--target", chosen_target(self.target, self.cluster)]
        words += ["--nodes", str(self.nodes)] if self.nodes != 1 else []
        return words + (["--bug", self.bug] if self.bug else [])


@dataclass(frozen=True)
class Cases:
    """The options that select cases, and limit the run."""

    keyword: Annotated[
        str | None,
        typer.Option("-k", help='Run only these ids or names: "IDEM-03 or metadata" (pytest -k).'),
    ] = None
    only: Annotated[
        str | None,
        typer.Option(
            metavar="CASE", help="Run only this case, as a failure's `reproduce:` line names it."
        ),
    ] = None
    area: Annotated[
        list[str] | None,
        typer.Option(metavar="AREA", help="Run only this area, such as TXN; repeatable."),
    ] = None
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROFILE",
            help="Run the areas of this profile: core, groups, transactions, admin, security or"
            " operations; a missing API fails; repeatable.",
        ),
    ] = None
    priority: Annotated[str, typer.Option(help="Lowest priority to run: P0, P1 or P2.")] = "P2"
    all_versions: Annotated[
        bool, typer.Option(help="Test every shared version, not only the first and last.")
    ] = False
    max_time: MaxTimeOption = None
    max_failures: Annotated[
        int | None, typer.Option(metavar="N", help="End after this many failed cases.")
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Run the cases in N processes; each starts --target for itself, and all share a"
            " cluster that runs already.",
        ),
    ] = 1
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print failures and the result, no progress.")
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print a line for each case.")
    ] = False
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="Do no more than this: read-only, produce, admin or restart (docs/foreign.md).",
        ),
    ] = "restart"
    timeout_scale: Annotated[
        float, typer.Option(metavar="X", help="Wait X times as long for answers and states.")
    ] = 1.0
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", help="Give the topics of cases N replicas.")
    ] = None
    prefix: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Begin the names of all topics, groups, transactional ids and users that are made"
            " with this.",
        ),
    ] = ""

    def words(self, ids: Sequence[str]) -> list[str]:
        """Return the options of pytest that select these cases. Raise UsageError for a word that is
        not the id of a case, and for an unknown area, profile or level."""
        strangers = [word for word in ids if not CASE_ID.fullmatch(word)]
        if strangers:
            raise UsageError(
                f"conform: {strangers[0]!r} is neither a case, such as PROD-05, nor `list`"
            )
        _check_known(ids, self.area or ())
        words = [word for case in ids for word in ("--case", case)]
        areas = [*(self.area or ()), *(area for each in self.profiles() for area in each.areas)]
        words += [word for area in areas for word in ("--area", area)]
        words += ["-k", self.keyword] if self.keyword else []
        words += ["--all-versions"] if self.all_versions else []
        words += ["--max-time", f"{self.max_time:g}"] if self.max_time else []
        words += ["--max-failures", str(self.max_failures)] if self.max_failures else []
        words += ["--jobs", str(self.jobs)] if self.jobs != 1 else []
        words += ["-q"] if self.quiet else ["-vv"] if self.verbose else []  # beside one -q already
        return [*words, "--priority", self.priority, *self._terms()]

    def _terms(self) -> list[str]:
        """Return the options of pytest that say what an examination may do, and how. Raise
        UsageError for an unknown --level."""
        from conformance.terms import LEVELS

        if self.level not in LEVELS:
            raise UsageError(f"--level {self.level}: give one of {', '.join(LEVELS)}")
        words = ["--level", self.level] if self.level != LEVELS[-1] else []
        if self.timeout_scale != 1:
            words += ["--timeout-scale", f"{self.timeout_scale:g}"]
        if self.replication_factor is not None:
            words += ["--replication-factor", str(self.replication_factor)]
        return words + (["--prefix", self.prefix] if self.prefix else [])

    def profiles(self) -> list[Profile]:
        """Return the chosen profiles. Raise UsageError for a name that none has."""
        from ci.compare.profiles import BY_NAME

        for name in self.profile or ():
            if name.lower() not in BY_NAME:
                raise UsageError(
                    f"conform: no profile is called {name!r}; there are {', '.join(BY_NAME)}"
                )
        return [BY_NAME[name] for name in dict.fromkeys(map(str.lower, self.profile or ()))]


def _check_known(ids: Sequence[str], areas: Sequence[str]) -> None:
    """Raise UsageError for an id or an area of which there is no case."""
    if ids or areas:
        from ci.conform import CASES
        from ci.plugins import case_files
        from conformance.session.selection import ids_in, why_unknown

        known = ids_in([CASES, *map(Path, case_files())])
        wanted, named = ({word.upper() for word in each} for each in (ids, areas))
        if why := why_unknown(wanted, named, known):
            raise UsageError(f"conform: {why}")


@dataclass(frozen=True)
class Results:
    """The options that say where the results go, and what they are held against."""

    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results to this JSON file.")
    ] = None
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results to this JUnit XML file.")
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the results to this page, with the bytes."),
    ] = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Fail only where the target differs from the known failures in this file: results"
            " of an earlier --out, or TOML (docs/ci/README.md). By default, those that Touchstone"
            " knows of the target.",
        ),
    ] = None
    all_messages: Annotated[
        bool,
        typer.Option(
            "--all-messages",
            help="Keep in --out the messages of cases that pass, too; `touchstone compare` sets"
            " them beside those of another target that failed.",
        ),
    ] = False
    sarif: SarifOption = None
    summary: SummaryOption = None
    as_json: JsonOption = False


@conform_app.callback()
@grouped
def conform(
    context: typer.Context,
    cluster: Cluster,
    cases: Cases,
    results: Results,
    fuzz: FuzzOption = None,
    seed: SeedOption = 1,
    frame: FrameOption = None,
    steps: StepsOption = None,
) -> None:
    """Examine a target: pass, fail or unsupported for every case, or only for the cases of the
    given ids, such as PROD-05 IDEM-03. With --fuzz send it malformed requests and random operations
    instead, with --frame or --steps what such a run has found."""
    if context.invoked_subcommand is not None:
        return
    selected = cases.words(context.args)
    check_filled(bootstrap=cluster.bootstrap)
    if cluster.bootstrap and (cluster.target or cluster.cluster):
        raise UsageError("conform: give one of --target, --cluster and --bootstrap")
    if fuzz or frame or steps:
        target = None if cluster.bootstrap else chosen_target(cluster.target, cluster.cluster)
        attacked = Attacked(
            target, cluster.bootstrap, cluster.nodes, cluster.bug, results.out, results.as_json
        )
        if cases.level != "restart":
            raise UsageError(
                f"--level {cases.level} forbids what --fuzz, --frame and --steps send; leave it out"
            )
        if cases.jobs != 1:
            raise UsageError(
                "--jobs is for cases, not for --fuzz, --frame and --steps; leave it out"
            )
        if cases.prefix:
            raise UsageError(
                "--prefix is for cases, not for --fuzz, --frame and --steps; leave it out"
            )
        raise typer.Exit(attack(attacked, fuzz, seed, frame or [], steps))
    check_above_zero(
        jobs=cases.jobs,
        max_failures=cases.max_failures,
        timeout_scale=cases.timeout_scale,
        replication_factor=cases.replication_factor,
    )
    options = [*cluster.words(), *selected]
    options += ["--results-messages"] if results.all_messages else []
    raise typer.Exit(_examine(options, cases, results))


def _examine(options: Sequence[str], cases: Cases, wanted: Results) -> int:
    """Run the selected cases, write what is wanted, and return the exit status. Raise UsageError if
    an option is wrong, or a file cannot be read or written."""
    from ci.conform import check_writable, examine, exit_status
    from ci.report import pipelines

    names = ("out", "junit", "html", "baseline", "sarif", "summary")
    pipelines.check_apart({f"--{name}": getattr(wanted, name) for name in names})
    check_writable("--out", wanted.out)
    check_writable("--junit", wanted.junit)
    check_writable("--html", wanted.html)
    pipelines.check_places(wanted.sarif, wanted.summary)
    known = _read(wanted.baseline) if wanted.baseline else None
    quiet = wanted.as_json
    found = examine(options, only=cases.only, quiet=quiet, out=wanted.out, junit=wanted.junit)
    status = exit_status(found)
    if (differs := _held_against(known, found, wanted.baseline)) is not None:
        print(*differs.lines(), sep="\n", file=sys.stderr)
        found["baseline"] = asdict(differs)
        status = 1 if differs.is_red() else 3 if found["ended"] else 0
    if cases.profile and not _meets(cases.profiles(), found):
        status = status or 1
    _write_page(wanted.html, found)
    pipelines.write_sarif(wanted.sarif, pipelines.sarif_of_examination(found))
    pipelines.write_summary(wanted.summary, pipelines.summary_of_examination(found))
    if wanted.as_json:
        print(json.dumps(found, indent=2))
    return status


def _meets(profiles: Sequence[Profile], results: dict[str, Any]) -> bool:
    """Note in the results, and print, how the target stands in each profile. Return whether it
    meets all of them."""
    from ci.compare.profiles import standing

    standings = [standing(profile, results["cases"]) for profile in profiles]
    results["profiles"] = {each.profile: each.as_dict() for each in standings}
    print(*(each.told() for each in standings), sep="\n", file=sys.stderr)
    return all(each.is_met for each in standings)


def _write_page(path: Path | None, results: dict[str, Any]) -> None:
    """Write the results as an HTML page. Do nothing without a path."""
    if path is not None:
        from ci.compare.comparing import Compared
        from ci.compare.pages import as_html

        path.write_text(as_html([Compared(str(results["target"]), results)]), encoding="utf-8")


def _read(baseline: Path) -> tuple[Known, ...]:
    from conformance.reporting.baseline import read_baseline

    try:
        return read_baseline(baseline)
    except (OSError, ValueError) as error:
        raise UsageError(f"--baseline {baseline}: {error}") from error


def _held_against(
    known: Sequence[Known] | None, results: dict[str, Any], baseline: Path | None
) -> Difference | None:
    """Return how the results differ from the known failures: those of --baseline, or else the known
    deviations of the target. Return None if neither exists."""
    from conformance.expectations import difference_from_expected
    from conformance.reporting.baseline import difference

    if known is None:
        return difference_from_expected(results)
    return difference(results, known, str(baseline))


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
