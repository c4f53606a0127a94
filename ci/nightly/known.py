"""Recognise a known defect of a target in a run that is INVALID, by what its nodes logged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from chaos.run.fitting import family_of
from chaos.scenarios.expectation import Expectation
from linearizability.verdict import Validity, Verdict

DROPPED_MARKERS = "KAFKA-20734: markers were dropped for partitions that had no leader (TXN-63)"
DROPPED = re.compile(r"Couldn't find leader endpoint for partitions \w*\((.+?)\) while trying")
"""The line in which a coordinator of Apache Kafka says for which partitions it drops markers."""
NODE_LOGS = "nodes/*/node.log"
WITHOUT_MARKER: Mapping[str, frozenset[str]] = {
    "hanging_transactions": frozenset({"open-for-too-long"}),
    "ends_honoured": frozenset(
        {"no-marker", "committed-but-not", "aborted-but-committed", "committed-unasked"}
    ),
    "torn_transactions": frozenset({"torn-transaction"}),
}
"""Checker -> the kinds of its anomalies that a marker which was dropped explains. The next marker
of its producer ends both transactions, in its own way."""
PLACE = re.compile(r"[\w.-]+-\d+")


def known_defect(run: Path, one: Expectation, verdict: Verdict) -> str:
    """Return the known defect of Apache Kafka that explains every anomaly of a run that is INVALID
    although another verdict is expected, or "" if none does.

    The defect of the coordinator (conformance/README.md) explains a transaction that lacks its
    marker, or has that of a later one, or holds up the last stable offset, in a partition for which
    a node has dropped markers, and nothing else.
    """
    if verdict.validity is not Validity.INVALID or one.verdict is Validity.INVALID:
        return ""
    if family_of(one.scenario.target) != "apache" or len(verdict.anomalies) < verdict.anomaly_count:
        return ""
    accusers = {n for n, c in verdict.checkers.items() if c.validity is Validity.INVALID}
    dropped = dropped_markers(run)
    is_known = accusers <= WITHOUT_MARKER.keys() and all(
        anomaly.kind in WITHOUT_MARKER.get(checker, ())
        and dropped & set(PLACE.findall(anomaly.message))
        for checker, anomaly in verdict.anomalies
    )
    return DROPPED_MARKERS if is_known else ""


def dropped_markers(run: Path) -> set[str]:
    """Return the partitions for which a node of a run has dropped markers."""
    dropped: set[str] = set()
    for log in run.glob(NODE_LOGS):
        with log.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if said := DROPPED.search(line):
                    dropped.update(said[1].split(", "))
    return dropped
