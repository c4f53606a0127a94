"""Run one attack and judge it: by the chosen engine, with porcupine's confirmation, and with a
report.

The run directory then holds run.json, history.parquet, verdict.json, report.html, summary.md and
nodes/.
"""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from chaos.record import run_directory, shown
from chaos.record.recorder import PARTS, recover
from chaos.record.run_directory import Scenario, why_unreadable
from chaos.run.costs import sentence
from ci.errors import UsageError
from ci.report.colours import coloured
from ci.stale_after import check_for_history, check_for_workload
from linearizability import history
from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.excuses import unclean
from linearizability.explain.page import FILE as EXPLAINED
from linearizability.explain.page import explain
from linearizability.importers.formats import chosen_format, imported
from linearizability.judging import (
    check,
    confirm_with_porcupine,
    disagreement,
    has_spark,
    in_groups,
    write_verdict,
)
from linearizability.measures import availability
from linearizability.opinions.profiles import known_profile, under_profile
from linearizability.opinions.registers import judge_registers
from linearizability.stories.telling import counted, facts_of, placed
from linearizability.verdict import CheckerVerdict, Validity, Verdict, merge

SIMULATED = "sim"
"""The name of the target in virtual time."""
GRAVEST_LAST = (Validity.VALID, Validity.UNKNOWN, Validity.INVALID)
"""The order in which the checkers' verdicts are printed, so that the worst come last."""
STORIES_MAX, GROUPS_MAX = 3, 12
"""The most causes of anomalies to print in full, and the most to print at all: those beyond
STORIES_MAX in one line each."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one run directory or history file."""

    path: Path
    verdict: Verdict
    run: Mapping[str, Any]
    bounds: Bounds = NOTHING_STATED

    @property
    def exit_status(self) -> int:
        return self.verdict.exit_status

    def to_json(self) -> str:
        return json.dumps(
            {"run": str(self.path), **self.verdict.as_dict(), "counts": self.run.get("counts")},
            indent=2,
        )


def attack(
    scenario: Scenario,
    runs: Path,
    *,
    engine: str = "auto",
    spark_master: str | None = None,
    progress: bool = True,
    stale_after_s: float | None = None,
) -> Judged:
    """Run one scenario, judge it and draw its report; return the verdict. stale_after_s: the bound
    of stale reads, in seconds, which run.json then has. Raise UsageError if a group of the workload
    may lawfully wait longer, and TargetError if the run cannot be made or recorded.

    Judge an interrupted run by polars alone, since the user is waiting for the prompt, and by
    default also a simulated run, which takes less time than Spark needs to start.
    """
    # Judging alone needs none of these, and starts in half the time without them.
    from chaos.run.fitting import family_of
    from chaos.run.runner import run
    from ci.report.building import report_run

    if stale_after_s is not None:
        check_for_workload(stale_after_s, scenario.workload)
    result = run(scenario, runs, progress=progress, argv=sys.argv[1:])
    if stale_after_s is not None:
        bounds = {"stale_after_s": stale_after_s}
        run_directory.write(result.directory, {**run_facts(result.directory), "bounds": bounds})
    is_simulated = family_of(scenario.target) == SIMULATED and spark_master is None
    if result.interrupted or (engine == "auto" and is_simulated):
        engine = "local"
    began = time.monotonic()
    first = partial(_print_first, began) if progress else None
    judged = judge_for_the_record(
        result.directory, engine=engine, spark_master=spark_master, first=first
    )
    judged_s = time.monotonic() - began
    report_run(result.directory)
    return replace(judged, run=_with_costs(judged, judged_s, time.monotonic() - began - judged_s))


def _with_costs(judged: Judged, judged_s: float, reported_s: float) -> Mapping[str, Any]:
    """Add the seconds that judging and reporting took to run.json, and return its new content."""
    costs = judged.run["costs"]
    more = {"judge": round(judged_s, 2), "report": round(reported_s, 2)}
    facts = {**judged.run, "costs": {**costs, "phases_s": {**costs["phases_s"], **more}}}
    run_directory.write(judged.path, facts)
    return facts


def attack_as_planned(scenario: Scenario, runs: Path, engine: str = "auto") -> Judged:
    """Run and judge the given scenario, which a plan such as a night contains, and return the
    verdict. After Ctrl-C, finish cleanly and raise KeyboardInterrupt, so that the caller stops,
    too."""
    judged = attack(scenario, runs, engine=engine)
    if judged.run.get("interrupted"):
        raise KeyboardInterrupt
    return judged


def judge_foreign(
    path: Path,
    *,
    history_format: str,
    engine: str = "auto",
    spark_master: str | None = None,
    profile: str = "touchstone",
    stale_after_s: float | None = None,
) -> Judged:
    """Judge a history that another tool recorded (linearizability.importers), without writing a
    file, and return the verdict. Raise HistoryError for an unknown profile or format, or a file
    that is no such history, and UsageError for a bound that is invalid or too tight."""
    known_profile(profile)
    with imported(path, history_format) as file:
        judged = judge(file, engine=engine, spark_master=spark_master, stale_after_s=stale_after_s)
        verdict = replace(judged.verdict, engine=judged.verdict.engine.partition(" ")[0])
        verdict = in_groups(under_profile(verdict, file, profile), file)
        return Judged(path, verdict, {}, judged.bounds)


def judge(
    path: Path,
    *,
    engine: str = "auto",
    spark_master: str | None = None,
    profile: str = "touchstone",
    stale_after_s: float | None = None,
) -> Judged:
    """Judge a run directory (and write its verdict.json) or a single history file. Return the
    verdict.

    profile: which rules apply (linearizability.opinions.profiles); verdict.json always follows
    Touchstone's own. If a run was killed, the part that it recorded is put together and judged:
    INVALID or UNKNOWN. Raise HistoryError for an unknown profile or a damaged history, UsageError
    for a damaged run.json or a bound that is invalid or too tight.
    """
    known_profile(profile)
    if isdir(path / PARTS):
        recover(path)
    run = run_facts(path)
    bounds = bounds_of(run, stale_after_s)
    if stale_after_s is not None:
        check_for_history(stale_after_s, path)
    verdict = verdict_of(path, run, engine=engine, spark_master=spark_master, bounds=bounds)
    if path.is_dir():
        write_verdict(path, verdict)
    named = tuple(run.get("judged_by", ()))
    verdict = in_groups(under_profile(verdict, path, profile, named_by_workload=named), path)
    return Judged(path, verdict, run, bounds)


def judge_for_the_record(
    path: Path,
    *,
    engine: str = "auto",
    spark_master: str | None = None,
    first: Callable[[Judged], None] | None = None,
) -> Judged:
    """Judge a run by polars at once, and then by Spark, whose verdict is stored in its place.
    Return the stored verdict.

    first: called with polars' verdict before Spark starts. If the two differ, the verdict is at
    best UNKNOWN and names both. With engine "local", or "auto" where Spark is not installed and no
    spark_master is named, polars' verdict stands. Raise HistoryError if "spark" is not available.
    """
    quick = judge(path, engine="local")
    if engine == "local" or (engine == "auto" and spark_master is None and not has_spark()):
        return quick
    if first is not None:
        first(quick)
    named = tuple(quick.run.get("judged_by", ()))
    by_spark = check(
        path,
        engine="spark",
        spark_master=spark_master,
        named_by_workload=named,
        bounds=quick.bounds,
        grouped=False,
    )
    others = [o for name, o in quick.verdict.checkers.items() if name not in by_spark.checkers]
    if (differ := disagreement(quick.verdict, by_spark)) is not None:
        others.append(differ)
        print(f"touchstone: {differ.reason}", file=sys.stderr)
    merged = merge(
        [*by_spark.checkers.values(), *others], engine=by_spark.engine, named_by_workload=named
    )
    verdict = in_groups(replace(merged, availability=quick.verdict.availability), path)
    write_verdict(path, verdict)
    return replace(quick, verdict=verdict)


def _print_first(began: float, judged: Judged) -> None:
    verdict = judged.verdict
    print(
        f"{verdict.validity.value.upper()} by {verdict.engine}, {time.monotonic() - began:.1f} s "
        f"after the run{f' ({verdict.reason})' if verdict.reason else ''}; Spark's verdict follows",
        file=sys.stderr,  # progress only: Spark's verdict, which is stored, comes later
        flush=True,
    )


def explain_verdict(judged: Judged, history_format: str = "auto") -> Path:
    """Write a page with the fewest operations that show each anomaly, and return its path: in the
    run directory for a run of Touchstone (`touchstone report` shows it), else in the working
    directory. Raise HistoryError if the history cannot be read."""
    path = judged.path
    is_run = path.is_dir() and chosen_format(path, history_format) == "touchstone"
    out = path / EXPLAINED if is_run else Path(f"{path.stem}.{EXPLAINED}")
    with imported(path, history_format) as file:
        return explain(file, judged.verdict, out, bounds=judged.bounds)


def verdict_of(
    path: Path,
    run: Mapping[str, Any],
    *,
    engine: str,
    spark_master: str | None = None,
    second_opinion: bool = True,
    bounds: Bounds = NOTHING_STATED,
) -> Verdict:
    """Return the verdict: the checkers' opinions by one engine, porcupine's if wanted, and UNKNOWN
    for whatever kept the run from completing. It is not stored; only porcupine's drawings go into a
    run directory. Raise HistoryError if the history cannot be read."""
    named = tuple(run.get("judged_by", ()))
    verdict = check(
        path,
        engine=engine,
        spark_master=spark_master,
        named_by_workload=named,
        bounds=bounds,
        grouped=False,
    )
    opinions = list(verdict.checkers.values())
    if second_opinion:
        more = (confirm_with_porcupine(path), judge_registers(path))
        told = [opinion for opinion in more if opinion is not None]
        opinions += unclean.excused(told, history.scan(path))
    served = availability.measure(path)
    opinions += [availability.opinion(served, bounds), *problems_of(run)]
    merged = merge(opinions, engine=verdict.engine, named_by_workload=named)
    return in_groups(replace(merged, availability=served.as_dict()), path)


def bounds_of(run: Mapping[str, Any], stale_after_s: float | None = None) -> Bounds:
    """Return the bounds that the run states besides correctness. stale_after_s, unless None,
    replaces its own bound of stale reads. Raise UsageError if a bound is unknown or invalid."""
    try:
        return Bounds.stated(run.get("bounds") or {}, stale_after_s=stale_after_s)
    except ValueError as error:
        raise UsageError(str(error)) from error


def run_facts(path: Path) -> Mapping[str, Any]:
    """Return run.json of a run directory, or {} if there is none, as for a single history. Raise
    UsageError if it is damaged, or of a version that cannot be read."""
    file = path / "run.json"
    if not isfile(file):
        return {}
    try:
        facts = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not complete JSON ({error}); run the scenario again") from error
    if not isinstance(facts, dict):
        raise UsageError(f"{file}: must be a map of facts about the run; run the scenario again")
    if why := why_unreadable(facts):
        raise UsageError(f"{file}: {why}")
    return facts


def problems_of(run: Mapping[str, Any]) -> list[CheckerVerdict]:
    """Return one UNKNOWN opinion, named "run", with every problem that kept the run from completing
    (no recovery, a final read cut short, a kill), or [] if there was none."""
    problems = [str(problem) for problem in run.get("problems", ())]
    if run and not run.get("ended"):
        problems.append("the run was killed before its end")
    if not problems:
        return []
    return [CheckerVerdict("run", Validity.UNKNOWN, 0, reason="; ".join(problems))]


def print_verdict(judged: Judged) -> None:
    """Print the checkers that do not apply in one line, then the other checkers, the worst last;
    then the causes of anomalies and the verdict; then its report, what the run served, showed and
    cost, and the commands that repeat and explain it, each if it is known."""
    verdict = judged.verdict
    checkers = verdict.checkers.items()
    idle = [name for name, checker in checkers if checker.validity is Validity.NOT_APPLICABLE]
    if idle:
        text = f"not applicable: {', '.join(idle)}"
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    "))
    for grave in GRAVEST_LAST:
        for name, checker in checkers:
            if checker.validity is grave:
                _print_checker(name, checker)
    _print_groups(verdict)
    word = coloured(verdict.validity.value.upper(), verdict.validity)
    print(f"{word} by {verdict.engine}: {judged.path}", end="")
    print(f" ({verdict.reason})" if verdict.reason else "")
    if (judged.path / "report.html").exists():
        print(f"report:    {judged.path / 'report.html'}")
    served = verdict.checkers.get(availability.NAME)
    if served and served.validity is Validity.NOT_APPLICABLE and served.reason:
        print(f"served:    {served.reason.removeprefix('served ')}")
    if "shown" in judged.run:
        print(f"shown:     {shown.line(judged.run['shown'])}")
    if costs := judged.run.get("costs"):
        print(f"cost:      {sentence(costs)}")
    if command := judged.run.get("reproduce"):
        print(f"reproduce: {command}")
    is_explained = (judged.path / EXPLAINED).exists()
    if verdict.validity is Validity.INVALID and judged.path.is_dir() and not is_explained:
        print(f"explain:   touchstone check {shlex.quote(str(judged.path))} --explain")


def _print_checker(name: str, checker: CheckerVerdict) -> None:
    reason = checker.reason or ""
    drawings = reason.split(", ")
    if reason.startswith("drawn: ") and len(drawings) > 1:
        reason = f"{drawings[0]} and {len(drawings) - 1} more in the same folder"
    if checker.validity is Validity.INVALID:
        found = f"{checker.anomaly_count:,} anomal{'y' if checker.anomaly_count == 1 else 'ies'}"
        reason = f"{found}; {reason}" if reason else found
    print(
        f"  {name:<24} {checker.validity.value:<8} {checker.checked:>9,} judged  {reason}".rstrip()
    )
    if checker.validity is Validity.INVALID:
        return
    for anomaly in checker.anomalies[:3]:
        operations = ", ".join(map(str, anomaly.operations[:8]))
        print(f"      {anomaly.kind}: {placed(anomaly)} (operations {operations})")
    if checker.anomaly_count > 3:
        print(f"      … and {checker.anomaly_count - 3:,} more of {checker.anomaly_count:,}")


def _print_groups(verdict: Verdict) -> None:
    """Print the causes of the anomalies, if there are any: the first few in full, some more in one
    line each, and the number of the rest."""
    if not verdict.groups:
        return
    print(f"\nwhat went wrong: {counted(verdict)}")
    for group in verdict.groups[:GROUPS_MAX]:
        print(f"  {group.number}. {group.headline} ({'; '.join(facts_of(group))})")
        if group.number <= STORIES_MAX:
            print(
                textwrap.fill(group.story, 100, initial_indent=" " * 5, subsequent_indent=" " * 5)
            )
    if len(verdict.groups) > GROUPS_MAX:
        print(f"  … and {len(verdict.groups) - GROUPS_MAX:,} more in verdict.json, under groups")
    print()
