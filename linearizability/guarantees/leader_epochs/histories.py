"""Histories written by hand for `leader_epochs`."""

from typing import Any

from linearizability.hand_written.rows import RAW, SAYS, Invalid, P, Row, S, Valid


def AT(second: int, row: Row) -> Row:
    return row | {"t_invoke_ns": second * 10, "t_complete_ns": second * 10 + 5}


def LED(first: int, last: int) -> list[Row]:
    """Return answers of leaders of these epochs, and between them a send that is acknowledged."""
    return [
        AT(1, SAYS(0) | {"leader_epoch": first}),
        AT(2, S(1, 0)),
        AT(3, SAYS(1) | {"leader_epoch": last}),
    ]


OF_ID: Row = {"topic_id": "id"}
LOGS = [RAW(1, 0, leader_epoch=3, **OF_ID), RAW(2, 1, leader_epoch=3, **OF_ID)]


def LEADS(node: int, epoch: int, **more: Any) -> Row:
    """Return the answer of this node as the leader of an epoch."""
    return SAYS(2) | OF_ID | {"node": node, "leader_epoch": epoch} | more


VALID: Valid = {
    "a node leads in ever newer epochs": [*LOGS, AT(1, LEADS(1, 3)), AT(2, LEADS(1, 5))],
    "the answer of the older epoch was asked for before": (
        [*LOGS, LEADS(1, 5, t_invoke_ns=10, t_complete_ns=20), LEADS(1, 3, t_invoke_ns=15)]
    ),
    "another node still answers in an older epoch": (
        [*LOGS, AT(1, LEADS(1, 5)), AT(2, LEADS(2, 3))]
    ),
    "each epoch has its leader": [*LOGS, LEADS(1, 3), LEADS(2, 4), LEADS(1, 3), LEADS(1, 5)],
    "a follower answers in the epoch of its leader": (
        [*LOGS, LEADS(1, 3), LEADS(2, 3, replica=2), P(2, 1, leader_epoch=3, node=2, **OF_ID)]
    ),
    "a topic is created again": [*LOGS, LEADS(1, 3), LEADS(2, 3, topic_id="other")],
    "another partition has another leader": [*LOGS, LEADS(1, 3), LEADS(2, 3, partition=1)],
    "a failed request names no leader": [*LOGS, LEADS(1, 3), LEADS(2, 3, type="fail")],
    "the leader epochs of a log grow": [
        RAW(n, n, leader_epoch=epoch) for n, epoch in enumerate((0, 0, 4))
    ],
    "a record has no known leader epoch": [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=-1)],
    "the lower epoch is in another partition": (
        [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=1, partition=1)]
    ),
    "the epochs are those of the answering leaders, not of the records": (
        [P(1, 0, leader_epoch=3), P(2, 1, leader_epoch=2)]
    ),
    "a record has the epoch of the leader that accepted it": (
        [*LED(2, 2), RAW(1, 0, leader_epoch=2)]
    ),
    "a new leader was elected during the send": [*LED(1, 2), RAW(1, 0, leader_epoch=1)],
    "a deposed leader still answers": [*LED(2, 1), RAW(1, 0, leader_epoch=1)],
    "no leader's answer follows the send": [*LED(2, 2)[:2], RAW(1, 0, leader_epoch=1)],
    "a follower has a higher epoch above its high watermark": (
        [RAW(1, 0, leader_epoch=3, replica=1, high_watermark=0), RAW(2, 1, leader_epoch=2)]
    ),
}

INVALID: Invalid = {
    "a node leads in an older epoch than before": (
        [*LOGS, AT(1, LEADS(1, 3)), AT(2, LEADS(1, 5)), AT(3, LEADS(1, 3)), AT(4, LEADS(1, 3))],
        [("node-in-older-epoch", (3, 4))],
    ),
    "two nodes answer as leaders of one epoch": (
        [*LOGS, LEADS(1, 3), LEADS(1, 3), LEADS(2, 3)],
        [("two-leaders", (2, 4))],
    ),
    "a record has the epoch of an older leader": (
        [*LED(2, 2), RAW(1, 0, leader_epoch=1), RAW(2, 1, leader_epoch=2)],
        [("older-epoch", (0, 1, 2, 1000))],
    ),
    "a lower epoch follows a higher one within one read": (
        [RAW(1, 0, leader_epoch=2), RAW(2, 3, leader_epoch=1)],
        [("epoch-goes-back", (1000,))],
    ),
    "a lower epoch follows a higher one in two reads": (
        [RAW(1, 0, leader_epoch=2), RAW(None, 1, leader_epoch=1, op_id=7, control="abort")],
        [("epoch-goes-back", (7, 1000))],
    ),
}
