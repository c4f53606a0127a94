"""Losses in a topic that allows unclean elections, and when an election may explain them."""

from __future__ import annotations

import json

import pytest

from linearizability.hand_written.rows import TOPIC, WHOLE, P, Row, S
from linearizability.history import F, frame
from linearizability.judging import check_frame
from linearizability.verdict import CheckerVerdict, Validity

SECOND_NS = 1_000_000_000
UNCLEAN = TOPIC(json.dumps({"unclean.leader.election.enable": "true"}))


def at(second: int) -> Row:
    return {"t_invoke_ns": second * SECOND_NS, "t_complete_ns": second * SECOND_NS + 1}


def fault(name: str, second: int) -> Row:
    detail = json.dumps({"fault": name, "node": 1})
    return {"f": F.NEMESIS.value, "process": -1, "detail": detail} | at(second)


LOST = [S(1, 0, **at(30)), S(2, 1, **at(31)), P(2, 1, **at(60))]
KILLED = [fault("Kill", 40), fault("Heal", 45)]


def said(*rows: Row, name: str = "lost_writes") -> CheckerVerdict:
    numbered = [{"op_id": number} | row for number, row in enumerate(rows)]
    return check_frame(frame(numbered)).checkers[name]


@pytest.mark.parametrize(("value"), ["true", "TRUE"])
def test_what_a_fault_may_have_given_up_is_unknown(value: str) -> None:
    topic = TOPIC(json.dumps({"unclean.leader.election.enable": value}))
    opinion = said(topic, *LOST, *KILLED)
    assert (opinion.validity, opinion.excused) == (Validity.UNKNOWN, 1)


@pytest.mark.parametrize(
    "topic",
    [TOPIC(json.dumps({"unclean.leader.election.enable": "false"})), UNCLEAN | {"topic": "u"}],
    ids=["not allowed", "allowed to another topic"],
)
def test_where_it_is_not_allowed_a_loss_is_invalid(topic: Row) -> None:
    assert said(topic, *LOST, *KILLED).validity is Validity.INVALID


@pytest.mark.parametrize(
    "faults",
    [(), (fault("Kill", 5), fault("Heal", 10)), (fault("Kill", 70),)],
    ids=["none", "healed long before", "later"],
)
def test_without_an_election_a_loss_is_invalid(faults: tuple[Row, ...]) -> None:
    assert said(UNCLEAN, *LOST, *faults).validity is Validity.INVALID


@pytest.mark.parametrize(
    ("struck", "validity"),
    [((35, 37), Validity.UNKNOWN), ((5, 10), Validity.INVALID), ((70, 75), Validity.INVALID)],
    ids=["before the last read of the whole log", "healed long before", "after that read"],
)
def test_what_was_given_up_before_the_last_read_was_never_seen(
    struck: tuple[int, int], validity: Validity
) -> None:
    reads = [P(2, 1, **at(60)), WHOLE(2, **at(61))]
    faults = [fault("Kill", struck[0]), fault("Heal", struck[1])]
    opinion = said(UNCLEAN, *LOST[:2], *faults, *reads, name="unseen_writes")
    assert opinion.validity is validity


def test_an_election_soon_after_a_heal_may_explain_it() -> None:
    faults = fault("Kill", 5), fault("Heal", 25)
    assert said(UNCLEAN, *LOST, *faults).validity is Validity.UNKNOWN


@pytest.mark.parametrize(
    ("epochs", "validity"),
    [
        ([(20, 3), (50, 4)], Validity.UNKNOWN),
        ([(50, 3), (51, 4)], Validity.UNKNOWN),
        ([(20, 4), (50, 3)], Validity.INVALID),
        ([(50, 4)], Validity.INVALID),
    ],
    ids=["a later one", "when is not known", "the last had begun", "one only"],
)
def test_elections_show_in_leader_epochs(epochs: list[tuple[int, int]], validity: Validity) -> None:
    answers = [
        P(None, None, leader_epoch=epoch, client="raw", process=7, **at(second))
        for second, epoch in epochs
    ]
    assert said(UNCLEAN, *LOST, *answers).validity is validity


def test_what_no_election_explains_stays() -> None:
    later = [S(3, 2, **at(80)), S(4, 3, **at(81)), P(4, 3, **at(90))]
    opinion = said(UNCLEAN, *LOST, *KILLED, *later)
    assert (opinion.validity, opinion.anomaly_count, opinion.excused) == (Validity.INVALID, 1, 1)
    assert opinion.anomalies[0].message.startswith("t-0: record 3 was acknowledged")
