"""The explanations of a verdict as one HTML file, which needs nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape
from pathlib import Path

from linearizability import history
from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers import CHECKERS
from linearizability.explain.drawing import ATTRIBUTES, logs, timeline
from linearizability.explain.shrink import SECONDS_MAX, Shrunk, shrink
from linearizability.explain.words import in_words, operations_of
from linearizability.verdict import Anomaly, Verdict

FILE = "explained.html"
PER_CHECKER = 2
"""How many anomalies of one checker are explained: the first of each kind come first."""
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;"
    "background:#fff;color:#1c1c1c}.drawing{overflow-x:auto;border:1px solid #ddd;padding:.6em;"
    "margin:.6em 0}code{background:#f2f2f2;padding:0 .2em}.muted{color:#595959}"
)


def explain(
    path: Path,
    verdict: Verdict,
    out: Path,
    *,
    seconds_max: float = SECONDS_MAX,
    bounds: Bounds = NOTHING_STATED,
) -> Path:
    """Write what proves the anomalies of a verdict on the history `path`; return the file written.

    seconds_max: the longest search for a smaller history, for each anomaly. bounds: those of the
    verdict; by other bounds a reader may not count as kept waiting.
    """
    sections = list(_sections(path, verdict, seconds_max, bounds))
    nothing = "<p>There is no anomaly to explain.</p>\n"
    out.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Anomalies explained</title><style>{STYLE}</style></head><body>\n"
        f"<h1>Anomalies explained</h1>\n<p class=muted>Each by the fewest operations that still "
        "show it, to the checker that found it. Bars: green ok, red failed, yellow of unknown "
        "outcome (open to the right: never completed); time from left to right, in order, not to "
        f"scale.</p>\n{''.join(sections) or nothing}</body></html>\n",
        encoding="utf-8",
    )
    return out


def _sections(path: Path, verdict: Verdict, seconds_max: float, bounds: Bounds) -> Iterator[str]:
    events = history.scan(path)
    for name, opinion in verdict.checkers.items():
        if name not in CHECKERS or not opinion.anomalies:
            continue
        yield f"<h2><code>{name}</code>: {escape(CHECKERS[name].title)}</h2>\n"
        for anomaly in chosen(opinion.anomalies):
            shrunk = shrink(events, name, anomaly, seconds_max=seconds_max, bounds=bounds)
            yield _section(anomaly, shrunk, ATTRIBUTES.get(name, ()))


def chosen(anomalies: tuple[Anomaly, ...]) -> list[Anomaly]:
    """Choose the first anomaly of each kind, then others."""
    first = {anomaly.kind: anomaly for anomaly in reversed(anomalies)}
    others = [a for a in anomalies if first[a.kind] is not a]
    return [*(a for a in anomalies if first[a.kind] is a), *others][: max(PER_CHECKER, len(first))]


def _section(anomaly: Anomaly, shrunk: Shrunk | None, attributes: Collection[str]) -> str:
    told = f"<h3>{escape(anomaly.kind)}</h3>\n<p>{escape(anomaly.message)}.</p>\n"
    if shrunk is None:
        return told + "<p class=muted>It needs more of the history than can be searched here.</p>\n"
    operations = operations_of(shrunk.rows)
    left = "" if shrunk.is_minimal else " (the search was ended by its time limit)"
    lines = "".join(f"<li><code>{escape(in_words(o))}</code></li>\n" for o in operations)
    return (
        f"{told}<p>{len(operations)} operations show it{left}:</p>\n<ol>\n{lines}</ol>\n"
        f"<div class=drawing>{timeline(operations)}</div>\n"
        f"<div class=drawing>{logs(operations, attributes)}</div>\n"
    )
