"""The explanations of a verdict as one HTML file, which needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import polars as pl

from linearizability import history
from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.table import CHECKERS
from linearizability.explain import style
from linearizability.explain.around import with_around
from linearizability.explain.drawing import ATTRIBUTES, logs, timeline
from linearizability.explain.shrink import SECONDS_MAX, Shrunk, shrink
from linearizability.explain.words import in_words
from linearizability.stories.grouping import with_groups
from linearizability.stories.model import Group
from linearizability.stories.scene import Record, Scene, scene_of
from linearizability.stories.telling import facts_of, placed
from linearizability.verdict import Anomaly, Verdict

FILE = "explained.html"
PER_GROUP = 3
"""The number of anomalies of a group that are explained: its example, and anomalies of kinds that
were not explained before."""
GROUPS_MAX = 8
"""The number of groups whose example is explained. In further groups, only anomalies of a new kind
are explained."""
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:80em;margin:2em auto;padding:0 1em;"
    "background:var(--ground);color:var(--text)}.drawing{overflow-x:auto;padding:.6em;"
    "border:1px solid var(--line);margin:.6em 0}.muted{color:var(--muted)}"
)
READING = (
    "Each anomaly is shown by the fewest operations from which its checker still finds it. Each "
    "bar is an operation, on a time axis in seconds since the run began; shaded bands are faults. "
    "Red: the operation failed. Dashed: its outcome is unknown, and it may take effect at any "
    "later time. A note in brackets says which operation decided an unknown outcome, or which "
    "record stands in the place of a lost one."
)


def explain(
    path: Path,
    verdict: Verdict,
    out: Path,
    *,
    seconds_max: float = SECONDS_MAX,
    bounds: Bounds = NOTHING_STATED,
) -> Path:
    """Write into the file `out`, replacing it, a page that proves anomalies of a verdict on the
    history `path`: those that `chosen` picks from each group. Return `out`. A verdict without
    groups is grouped first. Raise HistoryError if there is no valid history.

    seconds_max: the longest search for a smaller history, for each anomaly. bounds: those with
    which the verdict was made, since anomalies of delay depend on them.
    """
    events = history.scan(path)
    if verdict.anomalies and not verdict.groups:
        verdict = with_groups(verdict, events)
    sections = "".join(_sections(events, verdict, seconds_max, bounds))
    nothing = "<p>There is no anomaly to explain.</p>\n"
    out.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>Anomalies explained</title>'
        f"<style>{style.ALONE}{STYLE}</style></head><body>\n<h1>Anomalies explained</h1>\n"
        f"<p class=muted>{READING}</p>\n{sections or nothing}</body></html>\n",
        encoding="utf-8",
    )
    return out


def _sections(
    events: pl.LazyFrame, verdict: Verdict, seconds_max: float, bounds: Bounds
) -> Iterator[str]:
    told: set[tuple[str, str]] = set()
    for group in verdict.groups:
        few = chosen(group, verdict, told)
        if not few:
            continue
        told |= {(checker, anomaly.kind) for checker, anomaly in few}
        facts = "; ".join(facts_of(group))
        yield f"<h2>{group.number}. {escape(group.headline)}</h2>\n"
        yield f"<p>{escape(group.story)}</p>\n<p class=muted>{escape(facts)}</p>\n"
        scene = scene_of(events, [anomaly for _, anomaly in few])
        for i, (checker, anomaly) in enumerate(few):
            shrunk = shrink(events, checker, anomaly, seconds_max=seconds_max, bounds=bounds)
            records = scene.records.get(i, ())
            yield _section(events, checker, anomaly, shrunk, records, scene)


def chosen(group: Group, verdict: Verdict, told: set[tuple[str, str]]) -> list[tuple[str, Anomaly]]:
    """Return the anomalies of a group to explain, PER_GROUP at most: the example of one of the
    first GROUPS_MAX groups, and the first of each kind that is not in `told`, the (checker, kind)
    explained before. Anomalies whose checker is not in CHECKERS (porcupine's, for example) are left
    out."""
    few = [group.example] if group.number <= GROUPS_MAX else []
    few += [(name, position) for name, some in group.members.items() for position in some]
    found: dict[tuple[str, str], Anomaly] = {}
    for name, position in dict.fromkeys(few):
        anomaly = verdict.checkers[name].anomalies[position]
        kind = (name, anomaly.kind)
        is_example = group.number <= GROUPS_MAX and (name, position) == group.example
        if name in CHECKERS and kind not in found and (is_example or kind not in told):
            found[kind] = anomaly
    return [(name, anomaly) for (name, _), anomaly in list(found.items())[:PER_GROUP]]


def _section(
    events: pl.LazyFrame,
    checker: str,
    anomaly: Anomaly,
    shrunk: Shrunk | None,
    records: tuple[Record, ...],
    scene: Scene,
) -> str:
    told = (
        f"<h3>{escape(anomaly.kind)}, found by <code>{checker}</code></h3>\n"
        f"<p>{escape(placed(anomaly))}.</p>\n<p class=muted>{escape(anomaly.context)}</p>\n"
    )
    if shrunk is None:
        return told + "<p class=muted>It needs more of the history than can be searched here.</p>\n"
    operations, around = with_around(events, checker, shrunk.rows, records, scene)
    left = "" if shrunk.is_minimal else " (the search was ended by its time limit)"
    notes = {op: f" ({why})" for op, why in around.beside.items()}
    lines = "".join(
        f"<li><code>{escape(in_words(o))}</code>{escape(notes.get(o[0]['op_id'], ''))}</li>\n"
        for o in operations
    )
    attributes = ATTRIBUTES.get(checker, ())
    return (
        f"{told}<p>{len(shrunk.operations)} operations show it{left}:</p>\n<ul>\n{lines}</ul>\n"
        f"<div class=drawing>{timeline(operations, around)}</div>\n"
        f"<div class=drawing>{logs(operations, attributes, around)}</div>\n"
    )
