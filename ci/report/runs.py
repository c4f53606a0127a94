"""Convert a recorded run to its part of the report: verdict, checkers, figures, faults,
anomalies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ci.report.anomalies import (
    GROUPS_MAX,
    anomaly_anchor,
    anomaly_reports,
    group_anchor,
    group_report,
    other_anchors,
    told_in_full,
)
from ci.report.causes import fault_anchor
from ci.report.embedded import embedded
from ci.report.figures import figures
from ci.report.model import (
    NO_AXIS,
    TONE_OF,
    CheckerLine,
    Command,
    Drawing,
    FaultLine,
    Line,
    RunReport,
    Tone,
)
from ci.report.recorded import Recorded
from ci.report.timeline import axis
from linearizability.explain.page import FILE as EXPLAINED
from linearizability.history import history_file
from linearizability.measures.backlog import ROWS_MAX
from linearizability.measures.summary import Summary, summarise
from linearizability.stories.telling import counted
from linearizability.verdict import CheckerVerdict, Validity, Verdict

GRAVEST_FIRST = (Validity.INVALID, Validity.UNKNOWN, Validity.VALID, Validity.NOT_APPLICABLE)
"""The order in which checkers are shown: the worst verdicts first."""
DRAWINGS_MAX = 3
DRAWING_BYTES_MAX = 300_000


def run_report(run: Recorded, anchor: str) -> RunReport:
    """Return the content of the report for one run."""
    verdict = run.verdict
    anomalies = anomaly_reports(run, anchor)
    groups = verdict.groups if verdict else ()
    anchors = {op: told.anchor for told in reversed(anomalies) for op in told.operations}
    drawings, left_out = _drawings(run.directory)
    summary, trouble = _summary(run)
    return RunReport(
        name=run.directory.name,
        anchor=anchor,
        title=title_of(run),
        line=verdict_line(run, anchor),
        numbers=tuple(_numbers(run)),
        facts=tuple(_facts(run, summary)),
        checkers=_checkers(verdict, anchor) if verdict else (),
        figures=tuple(
            figures(run, summary, anchors | other_anchors(run, anchors, anchor)) if summary else ()
        ),
        axis=axis(run) if summary else NO_AXIS,
        faults=tuple(_faults(run, anchor)),
        errors=tuple(_errors(summary)),
        groups=tuple(group_report(group, anchor, anomalies) for group in groups[:GROUPS_MAX]),
        groups_left_out=max(len(groups) - GROUPS_MAX, 0),
        counted=counted(verdict) if verdict else "",
        anomalies=anomalies,
        drawings=drawings,
        drawings_left_out=left_out,
        explained=_explained(run.directory),
        problems=tuple(_problems(run)),
        notes=tuple(_notes(run, trouble)),
    )


def title_of(run: Recorded) -> str:
    """Return the title of a run: target, workload, nemesis and planted bug, or the directory's name
    for a history without a run."""
    facts = run.facts
    if not facts.get("target"):
        return run.directory.name
    parts = [str(facts[key]) for key in ("target", "workload", "nemesis") if facts.get(key)]
    return ", ".join(parts + ([f"bug {facts['bug']}"] if facts.get("bug") else []))


def verdict_line(run: Recorded, anchor: str) -> Line:
    """Return the run's verdict as one line of the report."""
    name = title_of(run)
    commands = tuple(_commands(run))
    verdict = run.verdict
    if verdict is None:
        why = run.problem or "verdict.json is missing: this run was not judged"
        return Line(name, "not judged", Tone.UNKNOWN, why, commands, anchor)
    judged = sum(checker.checked for checker in verdict.checkers.values())
    why = verdict.reason or f"{judged:,} checks, no anomaly"
    link = anchor
    if verdict.validity is Validity.INVALID:
        why = f"{why.removeprefix('invalid: ')}; {counted(verdict)}"
        if verdict.groups:
            first = verdict.groups[0]
            why += f"{', the most serious' if len(verdict.groups) > 1 else ''}: {first.headline}"
            link = group_anchor(anchor, first.number)
    return Line(
        name, verdict.validity.value, TONE_OF[verdict.validity], why, commands, link, verdict.engine
    )


def _commands(run: Recorded) -> Iterator[Command]:
    """Yield the commands that a reader of the verdict may want to run next."""
    check = f"touchstone check {shlex.quote(shown(run.directory))}"
    if run.facts.get("reproduce"):
        yield Command("attack again", str(run.facts["reproduce"]))
    yield Command("judge again", check)
    is_invalid = run.verdict is not None and run.verdict.validity is Validity.INVALID
    if is_invalid and not _explained(run.directory):
        yield Command("see the fewest operations that show it", f"{check} --explain")


def shown(path: Path) -> str:
    """Return a path as the reader would type it: relative to the current directory if it lies
    below."""
    here, path = Path.cwd(), path.absolute()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


# --- the parts ----------------------------------------------------------------------------------


def _numbers(run: Recorded) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of the key figures of a run."""
    counts = run.facts.get("counts") or {}
    for key, name in (
        ("ok", "operations ok"),
        ("fail", "failed"),
        ("info", "outcome unknown"),
        ("records_acknowledged", "records acknowledged"),
        ("records_read", "records read"),
        ("faults", "faults and heals"),
    ):
        if isinstance(counts.get(key), int):
            yield name, f"{counts[key]:,}"
    if run.verdict is not None:
        yield "anomalies", f"{run.verdict.anomaly_count:,}"
        if run.verdict.groups:
            yield "causes of anomalies", f"{len(run.verdict.groups):,}"


def _facts(run: Recorded, summary: Summary | None) -> Iterator[tuple[str, str]]:
    facts = run.facts
    names = {
        "target": "target",
        "nodes": "nodes",
        "workload": "workload",
        "nemesis": "nemesis",
        "bug": "planted bug",
        "seconds": "seconds of attack",
        "seed": "seed",
        "rate": "records a second at most",
        "started": "started",
        "ended": "ended",
        "commit": "commit of touchstone",
    }
    for key, name in names.items():
        if facts.get(key) is not None:
            yield name, f"{facts[key]:g}" if isinstance(facts[key], float) else str(facts[key])
    if facts.get("uncommitted_changes"):
        yield "working copy", "had uncommitted changes"
    for key, value in (facts.get("config") or {}).items():
        yield f"config {key}", str(value)
    versions = facts.get("versions") or {}
    known = [f"{name} {version}" for name, version in versions.items() if version]
    yield "versions", ", ".join(known)
    if summary is not None:
        yield "figures by", summary.engine


def _checkers(verdict: Verdict, anchor: str) -> tuple[CheckerLine, ...]:
    return tuple(
        CheckerLine(
            name=name,
            title=_title(name),
            word=checker.validity.value.replace("_", " "),
            tone=TONE_OF[checker.validity],
            checked=checker.checked,
            anomaly_count=checker.anomaly_count,
            reason=_reason(checker),
            link=anomaly_anchor(anchor, name) if checker.anomalies else "",
            told=len(told_in_full(name, checker, verdict)),
        )
        for name, checker in sorted(
            verdict.checkers.items(), key=lambda item: GRAVEST_FIRST.index(item[1].validity)
        )
    )


def _title(name: str) -> str:
    """Return the title of a checker, the guarantee that it checks, or "" for an unknown one. name:
    as in the verdict, perhaps with the name of a second judge, such as "register (porcupine)"."""
    from linearizability.checkers.table import CHECKERS

    if name == "run":
        return "The run came to its end"
    checker = CHECKERS.get(name.split(" ", maxsplit=1)[0])
    title = str(getattr(checker, "title", ""))
    return f"{title} (second opinion)" if " " in name and title else title


def _reason(checker: CheckerVerdict) -> str:
    """Return the checker's reason, or "drawn below" where it only lists drawings, which the page
    shows."""
    reason = checker.reason or ""
    return "drawn below" if reason.startswith("drawn: ") else reason


def _summary(run: Recorded) -> tuple[Summary | None, str]:
    """Return a summary of the history, or None if it cannot be read; and the reason why Spark could
    not compute it although Spark judged the run, or "". Spark computes it if Spark judged the run
    (its session is reused), else polars."""
    if run.rows is None:
        return None, ""
    written_ns = history_file(run.directory).stat().st_mtime_ns
    if run.verdict is not None and run.verdict.engine.startswith("spark"):
        try:
            return _summarised(run.directory, "spark", written_ns), ""
        except Exception as error:  # Spark and Java fail in many ways; still draw the report
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            trouble = f"the figures are by polars, because Spark could not make them: {reason}"
            return _summarised(run.directory, "local", written_ns), trouble
    return _summarised(run.directory, "local", written_ns), ""


@lru_cache(maxsize=32)
def _summarised(directory: Path, engine: str, written_ns: int) -> Summary:
    """Return the summary of a history, computed once per process, so that the run's report and the
    demo's show the same figures. written_ns: the file's time, with which a new one is read."""
    return summarise(directory, engine)


def _faults(run: Recorded, anchor: str) -> Iterator[FaultLine]:
    for number, fault in enumerate(run.faults):
        end = f"{fault.end_s:.2f}" if fault.is_healed else "not healed in the history"
        nodes = ", ".join(map(str, fault.nodes)) or "struck nothing"
        start, place = f"{fault.start_s:.2f}", fault_anchor(anchor, number)
        yield FaultLine(fault.name, nodes, start, end, fault.note, place)


def _errors(summary: Summary | None) -> Iterator[tuple[str, str, int]]:
    if summary is not None:
        rows = summary.errors.select("f", "error", "operations").sort("operations", descending=True)
        yield from rows.iter_rows()


def _explained(directory: Path) -> str:
    """Return the page that `touchstone check RUN --explain` wrote, or "" if there is none."""
    file = directory / EXPLAINED
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _drawings(directory: Path) -> tuple[tuple[Drawing, ...], tuple[str, ...]]:
    """Return the first few of porcupine's drawings that are small enough to embed whole, and the
    file names of the other drawings."""
    files = sorted((directory / "porcupine").glob("*.html"))
    small = [file for file in files if file.stat().st_size <= DRAWING_BYTES_MAX][:DRAWINGS_MAX]
    drawings = tuple(
        Drawing(file.stem, embedded(file.read_text(encoding="utf-8", errors="replace")))
        for file in small
    )
    return drawings, tuple(shown(file) for file in files if file not in small)


def _notes(run: Recorded, trouble: str) -> Iterator[str]:
    yield from map(str, run.facts.get("notes", ()))
    if trouble:
        yield trouble
    if run.rows is not None and run.backlog is None:
        yield f"unseen records and lag are not drawn: the history has more than {ROWS_MAX:,} rows"


def _problems(run: Recorded) -> Iterator[str]:
    yield from map(str, run.facts.get("problems", ()))
    if run.problem:
        yield run.problem
    if run.facts and run.facts.get("ended") is None:
        yield "the run did not come to its end: run.json says no time at which it ended"
