"""The page of all runs: one HTML file that contains its data, whether a server sends it or it is
opened from disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from ci.report.html import inline, render
from ci.ui.badges import badges_of, verdicts
from ci.ui.entry import Entry
from ci.ui.index import Index

PAGE_BYTES_MAX = 2_000_000
RESERVED = 60_000
"""The bytes reserved for the style, the script and the HTML around the data."""
PROBLEMS_MAX = 200
EXAMINATIONS_MAX = 40
GONE_MAX = 1000
FIELDS = (
    *("path", "started", "target", "target_version", "workload", "nemesis", "bug", "what"),
    *("scenario", "seconds", "seed", "commit", "command", "verdict", "why", "anomalies"),
    *("engine", "checkers", "counts", "served", "phases_s", "logs", "report", "expected"),
)


def page_of(index: Index, title: str, report_link: Callable[[Entry], str]) -> str:
    """Return the page as HTML. report_link: returns the address of a run's report, or "" if it has
    none.

    If the runs do not all fit into the page, it lists the newest, and says so.
    """
    data, left_out = _fitted(index, report_link)
    return render(
        "runs.html.j2",
        title=title,
        data=Markup(data),
        more=inline("runs.css"),
        script=inline("runs.js"),
        verdicts=[each for each in verdicts(index.runs) if each[1]],
        count=len(index.runs),
        left_out=left_out,
        problems=_problems(index),
        more_problems=max(len(index.problems) - PROBLEMS_MAX, 0),
        examinations=len(index.examinations),
        badges=sorted(badges_of(index)),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _fitted(index: Index, report_link: Callable[[Entry], str]) -> tuple[str, int]:
    """Return the newest runs that fit, as JSON, and the number of runs left out."""
    names = sorted({name for entry in index.runs for name in entry.checkers})
    rest = {
        "fields": FIELDS,
        "checkers": names,
        "flaky": sorted(index.flaky),
        "gone": [vars(gone) for gone in index.gone[-GONE_MAX:]],
        **_examinations(index),
    }
    room = PAGE_BYTES_MAX - RESERVED - len(_json(rest))
    room -= sum(len(f"{path}{why}".encode()) + 40 for path, why in _problems(index))
    rows: list[str] = []
    for entry in index.runs:
        row = _json(_row(entry, names, report_link(entry), index))
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    data = _json(rest)[:-1] + f',"rows":[{",".join(rows)}]}}'
    return data, len(index.runs) - len(rows)


def _problems(index: Index) -> list[tuple[str, str]]:
    return sorted(index.problems.items())[:PROBLEMS_MAX]


def _row(entry: Entry, names: Sequence[str], link: str, index: Index) -> list[Any]:
    values = {
        **vars(entry),
        "scenario": entry.scenario,
        "commit": entry.commit[:10] + ("" if entry.is_committed or not entry.commit else "+"),
        "checkers": [_opinion(entry, name) for name in names],
        "report": link,
        "expected": index.expected.get(entry.path.rpartition("/")[2], ""),
    }
    return [values[field] for field in FIELDS]


def _opinion(entry: Entry, name: str) -> Any:
    """Return a checker's opinion for the page: the first letter of its verdict, with the numbers of
    checks and anomalies if there are any, or 0 if it did not judge."""
    if name not in entry.checkers:
        return 0
    validity, checked, anomalies = entry.checkers[name]
    letter = validity[0]
    return f"{letter}{checked}" + (f":{anomalies}" if anomalies else "") if checked else letter


def _examinations(index: Index) -> dict[str, Any]:
    """Return the newest conformance results; each case name is stored once for all of them."""
    shown = index.examinations[:EXAMINATIONS_MAX]
    cases = sorted({name for each in shown for name in each.cases})
    return {
        "cases": cases,
        "examinations": [
            each.as_dict() | {"cases": "".join(each.cases.get(name, "-") for name in cases)}
            for each in shown
        ],
    }


def _json(data: Any) -> str:
    """Return JSON that is safe inside an HTML script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
