"""Render a short Markdown version of the report, for the summary page of a CI system."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from ci.report.model import AnomalyReport, Examination, ReportData, RunReport

ADDRESS = re.compile(r"(?i)(?:\b(?:https?|ftp):(?=//)|\bwww\.)")
FAILURES_MAX = 50
STORIES_MAX, GROUPS_MAX = 3, 8
ANOMALIES_MAX = 3


def render_markdown(data: ReportData) -> str:
    """Return Markdown with the verdicts, conformance counts, failing cases, anomalies, and the
    commands that reproduce each."""
    parts = [f"## {data.tone.symbol} Touchstone: {plain(data.title)}: {data.word}", ""]
    parts += _verdicts(data)
    if data.examinations:
        parts += _conformance(data)
    for run in data.runs:
        parts += _anomalies(run)
    if data.not_run:
        parts += ["", "### Not run", ""]
        parts += [f"- {plain(sentence)}" for sentence in data.not_run]
    return "\n".join(parts) + "\n"


def plain(words: object) -> str:
    """Return text that Markdown and HTML show literally, on one line, even inside a table. A URL
    does not become a link, since the text may come from an untrusted source."""
    line = _printable(" ".join(str(words).split()))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"([\\`*_\[\]|~#@$])", r"\\\1", line)
    return ADDRESS.sub(lambda found: found[0][:-1] + f"&#{ord(found[0][-1])};", line)


def _printable(line: str) -> str:
    """Return the line with control characters and bidirectional marks replaced by visible
    substitutes."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)


def code(words: str, in_table: bool = False) -> str:
    """Return a shell command as a Markdown code span on one line, ready to paste into a shell."""
    line = words if words.isprintable() else _on_one_line(words)
    line = line.replace("|", "\\|") if in_table else line
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def _on_one_line(command: str) -> str:
    """Return an equivalent command on one line; words with line breaks are quoted in bash's $'…'
    form. In a text that no shell would accept, replace line breaks by spaces."""
    try:
        words = shlex.split(command)
    except ValueError:  # a shell would not accept this as a command
        return _printable(" ".join(command.split()))
    return " ".join(shlex.quote(word) if word.isprintable() else _bash(word) for word in words)


def _bash(word: str) -> str:
    inner = "".join(f"\\{each}" if each in "\\'" else each for each in word)
    return "$'" + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in inner) + "'"


def _verdicts(data: ReportData) -> Iterator[str]:
    yield "| | What | Result | Reproduce |"
    yield "|---|---|---|---|"
    for line in data.lines:
        engine = f" (by {plain(line.engine)})" if line.engine else ""
        result = f"{line.word}{engine}" + (f": {plain(line.why)}" if line.why else "")
        commands = "<br>".join(code(command.words, in_table=True) for command in line.commands)
        yield f"| {line.tone.symbol} | {plain(line.what)} | {result} | {commands} |"


def _conformance(data: ReportData) -> Iterator[str]:
    yield from ("", "### Conformance", "")
    yield "| Target | Passed | Failed | Unsupported | Cases |"
    yield "|---|---:|---:|---:|---:|"
    for each in data.examinations:
        c = each.counts
        yield (
            f"| {plain(each.target)} | {c.passed} | {c.failed} | {c.unsupported} "
            f"| {each.distinct_cases} |"
        )
    for each in data.examinations:
        yield from _failures(each)


def _failures(each: Examination) -> Iterator[str]:
    if not each.failures:
        return
    yield from ("", f"#### Failed on {plain(each.target)}", "")
    for case in each.failures[:FAILURES_MAX]:
        versions = f" ({', '.join(case.versions)})" if case.versions else ""
        yield f"- **{plain(case.id)}** {plain(case.behaviour)}{versions}"
        yield f"  - expected {plain(case.expected)}, actual {plain(case.actual)}"
        yield f"  - {code(case.reproduce)}"
    if len(each.failures) > FAILURES_MAX:
        yield f"- … and {len(each.failures) - FAILURES_MAX} more"


def _anomalies(run: RunReport) -> Iterator[str]:
    if not run.anomalies:
        return
    yield from ("", f"### Anomalies: {plain(run.title)}", "")
    shown: dict[str, list[AnomalyReport]] = {}
    for anomaly in run.anomalies:
        shown.setdefault(anomaly.checker, []).append(anomaly)
    yield f"{plain(run.counted)}."
    yield ""
    for group in run.groups[:GROUPS_MAX]:
        facts = "; ".join(group.facts)
        yield f"{group.number}. **{plain(group.headline)}** ({plain(facts)})"
        if group.number <= STORIES_MAX:
            yield f"   {plain(group.story)}"
    left_out = len(run.groups) + run.groups_left_out - GROUPS_MAX
    if left_out > 0:
        yield f"   … and {left_out:,} more in verdict.json, under groups"
    yield ""
    counts = {checker.name: checker.anomaly_count for checker in run.checkers}
    for checker, anomalies in shown.items():
        yield f"- {code(checker)}: {counts[checker]}"
        for anomaly in anomalies[:ANOMALIES_MAX]:
            operations = ", ".join(map(str, anomaly.operations[:8]))
            told = f"{anomaly.message} [{anomaly.context}]" if anomaly.context else anomaly.message
            yield f"  - {plain(told)} (operations {operations})"
