"""Build the report: one self-contained HTML page per run or demo, and Markdown for a CI summary.

report_run(Path("runs/…"))      # writes report.html and summary.md into the run directory
report_demo(out, conformance=…, runs=…, canaries=…, components=…, lines=…)
build(data, out)                # any ReportData
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ci.doctor import Component
from ci.report.examinations import examination, target_option
from ci.report.html import render_html
from ci.report.markdown import render_markdown
from ci.report.model import Canary, Command, Examination, Line, ReportData, RunReport, Tone
from ci.report.recorded import Recorded, load
from ci.report.runs import run_report
from linearizability.verdict import Validity

SUMMARY = "summary.md"
WORDS = {Tone.GOOD: "as expected", Tone.BAD: "not as expected", Tone.UNKNOWN: "not judged"}


def build(data: ReportData, out: Path) -> Path:
    """Write the page to `out`, write its Markdown beside it, and return `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render_html(data), encoding="utf-8")
    out.with_name(SUMMARY).write_text(render_markdown(data), encoding="utf-8")
    return out


def report_run(run_dir: Path, out: Path | None = None) -> Path:
    """Write the report of one run directory, report.html (or `out`) with summary.md beside it, and
    return the page's path. Raise UsageError if it is not a run directory, or if its run.json or
    verdict.json is damaged."""
    run = run_report(load(run_dir), "run-1")
    data = ReportData(
        title=run.title,
        generated=_now(),
        lines=(run.line,),
        runs=(run,),
        not_run=tuple(run.problems),
    )
    return build(data, out or run_dir / "report.html")


def report_demo(
    out: Path,
    *,
    conformance: Sequence[Mapping[str, Any]],
    runs: Sequence[Path],
    canaries: Sequence[tuple[str, Path]],
    components: Sequence[Component],
    lines: Sequence[tuple[str, str, bool | None]],
) -> Path:
    """Write one report for a conformance run, chaos runs and canaries together, and return `out`.
    lines: (what was done, its result, whether that is as expected, or None if it was not
    judged)."""
    examinations = tuple(examination(each, n) for n, each in enumerate(conformance, 1))
    told = tuple(run_report(load(path), f"run-{n}") for n, path in enumerate(runs, 1))
    planted = tuple(
        _canary(bug, load(path), f"canary-{n}") for n, (bug, path) in enumerate(canaries, 1)
    )
    data = ReportData(
        title="Demonstration",
        generated=_now(),
        lines=tuple(_line(line, examinations, told, planted) for line in lines),
        examinations=examinations,
        runs=told,
        canaries=planted,
        components=tuple(components),
        is_demo=True,
        not_run=tuple(_not_run(lines, examinations, told, components)),
    )
    return build(data, out)


def _canary(bug: str, run: Recorded, anchor: str) -> Canary:
    checkers = run.verdict.checkers.items() if run.verdict else ()
    caught = tuple(name for name, c in checkers if c.validity is Validity.INVALID)
    return Canary(bug, caught, run_report(run, anchor))


def _line(
    line: tuple[str, str, bool | None],
    examinations: Sequence[Examination],
    runs: Sequence[RunReport],
    canaries: Sequence[Canary],
) -> Line:
    what, result, as_expected = line
    tone = {True: Tone.GOOD, False: Tone.BAD, None: Tone.UNKNOWN}[as_expected]
    link, commands = _where(what, examinations, runs, canaries)
    return Line(what, WORDS[tone], tone, result, commands, link)


def _where(
    what: str,
    examinations: Sequence[Examination],
    runs: Sequence[RunReport],
    canaries: Sequence[Canary],
) -> tuple[str, tuple[Command, ...]]:
    """Return (anchor, commands) of the part of the page to which a line of the demo belongs, or
    ("", ()) if there is none."""
    for canary in canaries:
        if what.startswith("canary") and canary.bug in what:
            return canary.run.anchor, canary.run.line.commands[:1]
    for each in examinations:
        if what.startswith("conformance") and what.endswith(each.target):
            words = f"touchstone conform {target_option(each.target)} --priority P0"
            return each.anchor, (Command("examine again", words),)
    for run in runs:
        facts = dict(run.facts)
        named = [facts.get(key, "") for key in ("target", "workload", "nemesis")]
        check = next(each for each in run.line.commands if each.purpose == "judge again")
        by_polars = replace(check, words=f"{check.words} --engine local")
        if "engines" in what:
            return run.anchor, (replace(check, words=f"{check.words} --engine spark"), by_polars)
        if what.startswith("chaos") and all(name in what for name in named):
            if what.endswith(("by porcupine", "by local (polars)")):
                return run.anchor, (by_polars,)  # porcupine confirms what either engine says
            return run.anchor, run.line.commands[:1]
    return "", ()


def _not_run(
    lines: Sequence[tuple[str, str, bool | None]],
    examinations: Sequence[Examination],
    runs: Sequence[RunReport],
    components: Sequence[Component],
) -> Iterator[str]:
    """Yield one sentence for each part of the demo that was not run, so that nobody believes it
    passed."""
    for what, result, as_expected in lines:
        if as_expected is None:
            yield f"{what}: {result}"
    if not examinations:
        yield "No conformance examination was run."
    for each in examinations:
        if each.counts.unsupported:
            yield (
                f"{each.target} does not advertise what {each.counts.unsupported} of its "
                f"{each.counts.total} examinations need: unsupported, neither passed nor failed."
            )
    if not runs:
        yield "No chaos run was made."
    for run in runs:
        yield from (f"{run.title}: {problem}" for problem in run.problems)
    for component in components:
        if not component.found:
            yield (
                f"Not found here: {component.name} ({component.detail}). Lost without it: "
                f"{component.lost_without}. To mend: {component.mend}"
            )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
