"""Records that a producer sends again in a new epoch after its broker had been stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from linearizability.hand_written.rows import RAW, WHOLE, Row, S
from linearizability.history import F, frame
from linearizability.judging import check_frame
from linearizability.verdict import Validity

SECOND_NS = 1_000_000_000


def at(begun: float, done: float) -> Row:
    return {"t_invoke_ns": int(begun * SECOND_NS), "t_complete_ns": int(done * SECOND_NS)}


def struck(name: str, second: float) -> Row:
    detail = json.dumps({"fault": name, "node": 1})
    return {"f": F.NEMESIS.value, "process": -1, "detail": detail} | at(second, second)


def validities(fault: Row, **second_copy: Any) -> dict[str, Validity]:
    again: Row = {"producer_epoch": 1, "sequence": 0, "leader_epoch": 1} | second_copy
    rows = [
        S(1, 5, **at(2, 3.5)),
        fault,
        struck("Heal", 3),
        RAW(1, 0, leader_epoch=0, **at(9, 9)),
        RAW(1, 5, **again, **at(9, 9)),
        WHOLE(6, op_id=1000, process=9, **at(9, 9)),
    ]
    judged = check_frame(frame(rows)).checkers
    return {name: judged[name].validity for name in ("duplicates", "delivery_semantics")}


@pytest.mark.parametrize("name", ["Kill", "PowerLoss"])
def test_it_is_left_out_where_a_node_was_stopped_meanwhile(name: str) -> None:
    assert set(validities(struck(name, 2.3)).values()) == {Validity.VALID}


@pytest.mark.parametrize(
    ("fault", "second_copy"),
    [
        (struck("Kill", 1.9), {}),
        (struck("Kill", 3.6), {}),
        (struck("Pause", 2.3), {}),
        (struck("Kill", 2.3), {"producer_epoch": 0, "sequence": 0}),
        (struck("Kill", 2.3), {"producer_epoch": 0, "sequence": 5}),
    ],
    ids=["before", "after", "no stop", "the same batch", "the same epoch"],
)
def test_nothing_else_is(fault: Row, second_copy: Row) -> None:
    assert set(validities(fault, **second_copy).values()) == {Validity.INVALID}
