"""Convert the anomalies of a run, and the groups with one cause, to their part of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from markupsafe import Markup

from ci.report.causes import NodeLogs, cause_of
from ci.report.evidence import evidence_of, rows_of
from ci.report.model import AnomalyReport, Evidence, GroupReport
from ci.report.recorded import Recorded
from linearizability.explain.drawing import Around, timeline
from linearizability.stories.model import Group
from linearizability.stories.telling import facts_of, placed
from linearizability.verdict import Anomaly, CheckerVerdict, Verdict

GROUPS_MAX = 12
"""The most causes that the page describes; all of them are in verdict.json."""
ANOMALIES_MAX = 8
"""The most anomalies of one checker that the page describes in full; all of them are in
verdict.json and framed on the timeline."""


def group_report(group: Group, anchor: str, anomalies: Sequence[AnomalyReport]) -> GroupReport:
    told = {(each.checker, each.anchor): each for each in anomalies}
    checker, position = group.example
    example = told.get((checker, anomaly_anchor(anchor, checker, position)))
    return GroupReport(
        number=group.number,
        anchor=group_anchor(anchor, group.number),
        headline=group.headline,
        story=group.story,
        anomalies=group.anomalies,
        facts=tuple(facts_of(group)),
        links=tuple(_links(group, anchor, told)),
        figure=example.figure if example is not None else Markup(""),
    )


def _links(
    group: Group, anchor: str, told: Mapping[tuple[str, str], AnomalyReport]
) -> Iterator[tuple[str, int, str]]:
    """Yield (checker, number of its anomalies in the group, anchor of the first of them that the
    report shows in full, or "")."""
    for checker, positions in group.members.items():
        anchors = (anomaly_anchor(anchor, checker, position) for position in positions)
        yield checker, len(positions), next((a for a in anchors if (checker, a) in told), "")


def anomaly_reports(run: Recorded, anchor: str) -> tuple[AnomalyReport, ...]:
    chosen: list[tuple[str, int, Anomaly]] = [
        (name, number, checker.anomalies[number])
        for name, checker in (run.verdict.checkers.items() if run.verdict else ())
        for number in told_in_full(name, checker, run.verdict)
    ]
    rows = rows_of(run, [anomaly for _, _, anomaly in chosen])
    logs = NodeLogs(run)
    return tuple(
        _anomaly(run, anchor, anomaly_anchor(anchor, name, number), name, anomaly, rows, logs)
        for name, number, anomaly in chosen
    )


def told_in_full(name: str, checker: CheckerVerdict, verdict: Verdict | None) -> list[int]:
    """Return the indexes of the anomalies that the page shows in full: the example anomaly of each
    cause, and the first few others."""
    groups = verdict.groups[:GROUPS_MAX] if verdict else ()
    examples = [group.example[1] for group in groups if group.example[0] == name]
    others = (n for n in range(len(checker.anomalies)) if n not in examples)
    return sorted([*examples, *islice(others, max(ANOMALIES_MAX - len(examples), 0))])


def _anomaly(
    run: Recorded,
    run_anchor: str,
    anchor: str,
    checker: str,
    anomaly: Anomaly,
    rows: dict[int, list[dict[str, Any]]],
    logs: NodeLogs,
) -> AnomalyReport:
    evidence, left_out = evidence_of(run, anomaly, rows)
    return AnomalyReport(
        anchor,
        checker,
        anomaly.kind,
        placed(anomaly),
        anomaly.context,
        anomaly.blame or "",
        _scope(anomaly),
        anomaly.operations,
        evidence,
        left_out,
        _drawn(run, evidence, rows) if evidence else Markup(""),
        cause_of(run, run_anchor, anomaly, evidence, rows, logs),
    )


def _drawn(
    run: Recorded, evidence: Sequence[Evidence], rows: dict[int, list[dict[str, Any]]]
) -> Markup:
    """Draw the operations of an anomaly on a time axis; return an empty drawing for a single
    operation."""
    operations = [
        [rows[number][row.index] for row in some]
        for number, some in ((n, list(g)) for n, g in groupby(evidence, lambda e: e.operation))
    ]
    around = Around(run.bounds_ns[0], run.faults)
    return timeline(operations, around) if len(operations) > 1 else Markup("")


def _scope(anomaly: Anomaly) -> str:
    """Return the anomaly's location: a partition as TOPIC-PARTITION, anything else with its column
    name."""
    scope = {key: value for key, value in anomaly.scope.items() if value is not None}
    if "topic" in scope and "partition" in scope:
        scope.pop("topic_id", None)
        scope = {"partition": f"{scope.pop('topic')}-{scope.pop('partition')}"} | scope
    return ", ".join(f"{key} {value}" for key, value in scope.items())


def other_anchors(run: Recorded, told: dict[int, str], anchor: str) -> dict[int, str]:
    """Return op_id -> the anchor of the run's anomalies, for operations of those that the page does
    not show in full. told: op_id -> anchor of the other operations. anchor: the run's."""
    named = {
        op
        for _, anomaly in (run.verdict.anomalies if run.verdict else ())
        for op in anomaly.operations
    }
    return dict.fromkeys(named - set(told), f"{anchor}-anomalies")


def anomaly_anchor(anchor: str, checker: str, number: int = 0) -> str:
    slug = "".join(letter if letter.isalnum() else "-" for letter in checker).strip("-")
    return f"{anchor}-{slug}-{number}"


def group_anchor(anchor: str, number: int) -> str:
    return f"{anchor}-group-{number}"
