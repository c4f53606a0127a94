"""A run is excused by a known defect only where a node's log has its trace for each partition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.record.run_directory import Scenario
from chaos.scenarios.expectation import Expectation, Part
from ci.nightly.known import DROPPED_MARKERS, known_defect
from ci.nightly.outcome import Ending, exit_status
from ci.nightly.records import Store, flaky_commands
from ci.nightly.tests.made import night, outcome
from linearizability.verdict import Anomaly, CheckerVerdict, Validity, Verdict

DROPS = (
    "INFO [TxnMarkerSenderThread-1] [Transaction Marker Channel Manager 1]: Couldn't find leader"
    " endpoint for partitions {} while trying to send transaction markers for t-1, these partitions"
    " are likely deleted already and hence can be skipped"
)


def expected(target: str, verdict: Validity = Validity.VALID) -> Expectation:
    return Expectation(
        Scenario(target, "zombies", "kill", 1, 15.0, 1), verdict, Part.EXPLORATION, "why"
    )


HELD_UP = "open-for-too-long"


def accused(
    *partitions: int, by: str = "hanging_transactions", kind: str = HELD_UP, more: int = 0
) -> Verdict:
    """Return a verdict of INVALID with an anomaly in each partition of topic t-1."""
    found = tuple(Anomaly(kind, (1,), f"t-1-{each}: it lacks 1 marker") for each in partitions)
    one = CheckerVerdict(by, Validity.INVALID, 9, found, len(found) + more)
    return Verdict(Validity.INVALID, "local", {by: one}, None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run in which two nodes dropped the markers of partitions 1, 2 and 3."""
    for node, dropped in enumerate(("Set(t-1-1)", "HashSet(t-1-3, t-1-2)"), 1):
        log = tmp_path / "nodes" / str(node) / "node.log"
        log.parent.mkdir(parents=True)
        log.write_text(f"INFO started\n{DROPS.format(dropped)}\n")
    return tmp_path


APACHE = expected("apache:4.3.1")


@pytest.mark.parametrize(
    ("one", "verdict", "known"),
    [
        (APACHE, accused(1), True),
        (APACHE, accused(1, 2, 3), True),
        (expected("docker:apache:4.3.1"), accused(2), True),
        (APACHE, accused(1, by="ends_honoured", kind="no-marker"), True),
        (APACHE, accused(1, by="ends_honoured", kind="committed-but-not"), True),
        (APACHE, accused(1, by="torn_transactions", kind="torn-transaction"), True),
        (APACHE, accused(1, by="ends_honoured"), False),
        (APACHE, accused(by="append_order (porcupine)"), False),
        (APACHE, accused(1, 4), False),
        (APACHE, accused(11), False),
        (APACHE, accused(1, kind="stable-while-open"), False),
        (APACHE, accused(1, by="lost_writes"), False),
        (APACHE, accused(1, more=1), False),
        (APACHE, Verdict(Validity.VALID, "local", {}, None), False),
        (expected("apache:4.3.1", Validity.INVALID), accused(1), False),
        (expected("reference"), accused(1), False),
    ],
)
def test_only_held_up_partitions_whose_markers_were_dropped_are_known(
    run: Path, one: Expectation, verdict: Verdict, known: bool
) -> None:
    assert known_defect(run, one, verdict) == (DROPPED_MARKERS if known else "")


def test_without_the_trace_in_a_log_nothing_is_known(tmp_path: Path) -> None:
    assert known_defect(tmp_path, APACHE, accused(1)) == ""


def test_a_known_defect_is_neither_red_nor_flaky_nor_as_expected(tmp_path: Path) -> None:
    known = replace(outcome(verdicts=["invalid"]), known=DROPPED_MARKERS)
    assert known.ending is Ending.KNOWN
    assert DROPPED_MARKERS in known.said
    assert exit_status([known], []) == 0
    store = Store(tmp_path)
    assert not flaky_commands([night(store, 1, [known]), night(store, 2, [outcome()])])
