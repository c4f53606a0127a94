"""Histories written by hand for what logs promise that somebody read raw."""

from __future__ import annotations

from typing import Any

from linearizability.hand_written.rows import LOG, RAW, SAYS, SENDS_OFFSET, WHOLE, P, Row, S

TXN = {"txn": 1}
OURS = {"client": "confluent"}
NEWER = {"producer_epoch": 1}
LED = {"leader_epoch": 0}
MARKER = LED | {"control": "abort", "sequence": -1}

QUARTER = 15 * 60 * 1_000_000_000
ENDED = [S(1, 0, **TXN), RAW(1, 0), RAW(None, 1, **MARKER)]
"""A transaction of one record, and its marker."""

SECOND = 1_000_000_000
COMMIT: Row = {"f": "commit", "txn": 1}
THERE = {"partition": 1}


def GIVES(epoch: int, **more: Any) -> Row:
    """Return an InitProducerId that is answered producer id 7 with this epoch."""
    return {"f": "init_producer", "producer_id": 7, "producer_epoch": epoch} | more


INIT: Row = {"f": "init_producer", "settings": '{"transaction.timeout.ms": "2000"}'}
BEGIN: Row = {"f": "begin", "txn": 1}


def STUCK(seconds: int) -> Row:
    """Return a leader's answer in the final phase: the last stable offset is 0."""
    now = seconds * SECOND + 1_000
    return SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=now, t_complete_ns=now)


OUT_OF_ORDER: Row = {"type": "fail", "error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}


def AT(second: int) -> Row:
    """Return the times of an operation that takes no time."""
    return {"t_invoke_ns": second * 10**9, "t_complete_ns": second * 10**9}


VALID: dict[str, dict[str, list[Row]]] = {
    "offset_gaps": {
        "whole": [RAW(1, 0), RAW(None, 1, control="commit"), RAW(2, 2)],
        "a reader goes over a marker": [S(1, 0, **TXN), P(1, 0, **OURS), P(2, 2, **OURS)],
        "read raw, there is a marker": [
            P(1, 0, **OURS),
            P(2, 2, **OURS),
            RAW(1, 0),
            RAW(None, 1, control="commit"),
            RAW(2, 2),
        ],
        "not read to the end": [RAW(1, 0), WHOLE(2, op_id=1000, type="info")],
        "nobody knows what the read showed": [S(1, 0), P(1, 0), WHOLE(2)],
        "read committed": LOG(1, None, isolation="read_committed"),
        "compacted at its end": [S(2, 1, key="k"), *LOG(1, None)],
        "two reads of two parts": [RAW(1, 0), RAW(2, 5, op_id=1001)],
        "deleted": [P(1, 0, **OURS), P(2, 5, **OURS), WHOLE(6, log_start=5)],
        "compacted": [S(1, 0, key="k"), RAW(1, 0), RAW(2, 2)],
        "a record is known to be there": [S(1, 0), S(2, 1), P(1, 0, **OURS), P(3, 2, **OURS)],
        "Jepsen's sends may be transactions": [P(1, 0, client="jepsen"), P(2, 2, client="jepsen")],
        "another session": [P(1, 0, **OURS), P(2, 2, **OURS, session=1)],
    },
    "idempotence": {
        "one by one": [RAW(1, 0, **LED), RAW(2, 1, **LED), RAW(3, 2, **LED)],
        "it wraps": [RAW(1, 0, sequence=2**31 - 1, **LED), RAW(2, 1, sequence=0, **LED)],
        "two producers": [RAW(1, 0, **LED), RAW(2, 1, producer_id=8, sequence=0, **LED)],
        "a new epoch begins at 0": [
            RAW(1, 0, sequence=5, **LED),
            RAW(2, 1, sequence=0, **NEWER, **LED),
        ],
        "a marker has none": [
            RAW(1, 0, sequence=0, **LED),
            RAW(None, 1, **MARKER),
            RAW(2, 2, sequence=1, **LED),
        ],
        "refused in a transaction, which a fence may end": [
            S(1, 0, client="raw"),
            S(2, client="raw", txn=1, **OUT_OF_ORDER),
            RAW(1, 0, **LED),
        ],
        "a library was refused": [S(1, 0), S(2, **OUT_OF_ORDER), RAW(1, 0, **LED)],
        "the first may have any": [RAW(1, 0, sequence=4, **LED), RAW(2, 1, sequence=5, **LED)],
        "behind a hole": [RAW(1, 0, sequence=0, **LED), RAW(2, 5, sequence=5, **LED)],
        "not idempotent": [
            RAW(1, 0, producer_id=-1, sequence=-1, **LED),
            RAW(2, 1, producer_id=-1, sequence=-1, **LED),
        ],
    },
    "fencing": {
        "who is the newest goes on": [GIVES(1), GIVES(2, asked="epoch", asked_offset=1), RAW(1, 0)],
        "epochs grow": [RAW(1, 0, **LED), RAW(2, 1, **NEWER, **LED)],
        "a marker of a newer epoch": [
            RAW(1, 0, **LED),
            RAW(None, 1, **NEWER, **MARKER),
            RAW(2, 2, **NEWER, **LED),
        ],
        "another producer": [RAW(1, 0, **NEWER, **LED), RAW(2, 1, producer_id=8, **LED)],
        "the next transaction's epoch": [
            S(1, 0, **TXN),
            COMMIT,
            S(2, 0, txn=2, **THERE),
            RAW(1, 0),
            RAW(2, 0, **NEWER, **THERE),
        ],
        "asked for before": [S(1, 0, **TXN, t_complete_ns=99), GIVES(1), RAW(1, 0)],
        "out to another": [GIVES(1, producer_id=8), S(1, 0, **TXN), RAW(1, 0), COMMIT],
        "written in either epoch": [GIVES(1), S(1, 0, **TXN), RAW(1, 0), RAW(1, 1, **NEWER)],
        "refused": [S(1, 0, **TXN), GIVES(1), COMMIT | {"type": "fail"}, RAW(1, 0)],
        "the next epoch": [GIVES(1), GIVES(2), RAW(1, 0)],
    },
    "late_markers": {
        "behind it all": [
            S(1, 0, **TXN),
            S(2, 1, **TXN),
            RAW(1, 0, **LED),
            RAW(2, 1, **LED),
            RAW(None, 2, **MARKER),
        ],
        "another producer's": [
            S(1, 0, **TXN),
            S(2, 2, **TXN),
            RAW(1, 0, **LED),
            RAW(None, 1, producer_id=8, **MARKER),
            RAW(2, 2, **LED),
        ],
        "two transactions": [
            S(1, 0, **TXN),
            S(2, 2, txn=2),
            RAW(1, 0, **LED),
            RAW(None, 1, **MARKER),
            RAW(2, 2, **LED),
        ],
        "written twice": [
            S(1, 0, **TXN),
            RAW(1, 0, **LED),
            RAW(None, 1, **MARKER),
            RAW(None, 2, **MARKER),
        ],
    },
    "high_watermark": {
        "it grows": [SAYS(1, last_stable_offset=0, log_start=0), SAYS(2, last_stable_offset=1)],
        "a new leader knows less": [SAYS(2), SAYS(1, leader_epoch=1)],
        "at the same time": [SAYS(2, t_complete_ns=20), SAYS(1)],
        "another partition": [SAYS(2), SAYS(1, partition=1)],
        "the same answer shows more": [SAYS(1, last_stable_offset=2), SAYS(2)],
        "a follower's": [SAYS(2), SAYS(1, replica=2)],
    },
    "hanging_transactions": {
        "it went on": [*ENDED, SAYS(2, last_stable_offset=2)],
        "open": [S(1, 0, **TXN), RAW(1, 0), SAYS(1, last_stable_offset=0)],
        "asked before the read": [SAYS(2, last_stable_offset=0, t_invoke_ns=0), *ENDED],
        "a new leader knows nothing of the marker": [*ENDED, SAYS(1, last_stable_offset=0)],
        "the next of the same producer": [*ENDED, RAW(3, 2), SAYS(3, last_stable_offset=2)],
        "for a quarter of an hour": [
            S(1, 0, **TXN),
            SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=QUARTER, t_complete_ns=QUARTER),
        ],
        "its markers may be on their way": [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(59)],
        "its end is not known": [S(1, 0, **TXN), COMMIT | {"type": "info"}, STUCK(0), STUCK(80)],
        "its producer may leave it open": [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(65)],
        "another producer's time-out is not known": [
            INIT,
            BEGIN,
            BEGIN | {"process": 5},
            S(1, 0, **TXN),
            STUCK(0),
            STUCK(200),
        ],
        "committed as late as it may be": [
            INIT,
            BEGIN,
            S(1, 0, **TXN, **AT(1)),
            COMMIT | AT(18),
            SAYS(1, last_stable_offset=1),
        ],
        "refused when it was too late": [
            INIT,
            BEGIN,
            S(1, 0, **TXN, **AT(1)),
            COMMIT | AT(60) | {"type": "fail"},
            SAYS(1, last_stable_offset=1),
        ],
        "its coordinator may be away": [
            S(1, 0, **TXN),
            SAYS(1, last_stable_offset=0, t_invoke_ns=2 * QUARTER, t_complete_ns=2 * QUARTER),
        ],
    },
}

INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "offset_gaps": {
        "before the high watermark": (LOG(1, 2, None), [("offset-gap", (1000,))]),
        "before a follower's high watermark": (
            [*LOG(1, 2), *LOG(1, None, replica=2)],
            [("offset-gap", (1000,))],
        ),
        "in a raw read": ([RAW(1, 0), RAW(2, 2)], [("offset-gap", (1000,))]),
        "in a raw read with transactions": (
            [S(1, 0, **TXN), RAW(1, 0), RAW(2, 2)],
            [("offset-gap", (1000,))],
        ),
        "without transactions": (
            [S(1, 0), P(1, 0, **OURS), P(2, 2, **OURS)],
            [("offset-gap", (1, 2))],
        ),
    },
    "idempotence": {
        "one is missing": (
            [RAW(1, 0, sequence=0, **LED), RAW(2, 1, sequence=2, **LED)],
            [("sequence-does-not-follow", (1000,))],
        ),
        "it follows and is refused": (
            [S(1, 0, client="raw"), S(2, client="raw", **OUT_OF_ORDER), RAW(1, 0, **LED)],
            [("in-order-refused", (1,))],
        ),
        "one stands twice": (
            [RAW(1, 0, sequence=0, **LED), RAW(1, 1, sequence=0, **LED)],
            [("sequence-does-not-follow", (1000,))],
        ),
        "a new epoch begins later": (
            [RAW(1, 0, sequence=0, **LED), RAW(2, 1, sequence=1, **NEWER, **LED)],
            [("sequence-does-not-follow", (1000,))],
        ),
    },
    "fencing": {
        "a fenced producer writes": (
            [RAW(1, 0, **NEWER, **LED), RAW(2, 1, **LED)],
            [("fenced-epoch-writes", (1000,))],
        ),
        "behind a newer marker": (
            [RAW(1, 0, **LED), RAW(None, 1, **NEWER, **MARKER), RAW(2, 2, **LED)],
            [("fenced-epoch-writes", (1000,))],
        ),
        "a late marker": (
            [RAW(1, 0, **NEWER, **LED), RAW(None, 1, **MARKER)],
            [("fenced-epoch-writes", (1000,))],
        ),
        "it writes when another was let in": (
            [GIVES(1), S(1, 0, **TXN), RAW(1, 0)],
            [("zombie-writes", (0, 1))],
        ),
        "what it writes is not acknowledged": (
            [GIVES(1), S(1, None, **TXN), RAW(1, 0)],
            [("zombie-writes", (0, 1))],
        ),
        "it writes when another wrote elsewhere": (
            [S(1, 0, txn=2, **THERE), S(2, 0, **TXN), RAW(1, 0, **NEWER, **THERE), RAW(2, 0)],
            [("zombie-writes", (0, 1))],
        ),
        "it commits an offset": (
            [GIVES(1), SENDS_OFFSET(5, producer_id=7, producer_epoch=0)],
            [("zombie-commits-offsets", (0, 1))],
        ),
        "it commits its transaction": (
            [S(1, 0, **TXN), GIVES(1), COMMIT, RAW(1, 0)],
            [("zombie-ends", (1, 2))],
        ),
        "it is given the next epoch": (
            [GIVES(1), GIVES(2, asked="epoch", asked_offset=0), RAW(1, 0)],
            [("zombie-rejoins", (0, 1))],
        ),
        "two are given one epoch": ([GIVES(1), GIVES(1), RAW(1, 0)], [("reused-epoch", (0, 1))]),
        "an epoch is given back": ([GIVES(2), GIVES(1), RAW(1, 0)], [("reused-epoch", (0, 1))]),
    },
    "late_markers": {
        "in the middle": (
            [
                S(1, 0, **TXN),
                S(2, 2, **TXN),
                RAW(1, 0, **LED),
                RAW(None, 1, **MARKER),
                RAW(2, 2, **LED),
            ],
            [("late-marker", (0, 1, 1000))],
        )
    },
    "high_watermark": {
        "it goes back": ([SAYS(2), SAYS(1)], [("high-watermark-goes-back", (0, 1))]),
        "the last stable offset does": (
            [SAYS(2, last_stable_offset=2), SAYS(3, last_stable_offset=1)],
            [("last-stable-offset-goes-back", (0, 1))],
        ),
        "the log start does": (
            [SAYS(2, log_start=2), SAYS(2, log_start=1)],
            [("log-start-goes-back", (0, 1))],
        ),
        "a record beyond": (
            [
                RAW(1, 3, op_id=0),
                WHOLE(3, op_id=0, leader_epoch=0, record_index=4),
                SAYS(3, op_id=1),
            ],
            [("beyond-the-high-watermark", (0, 1))],
        ),
    },
    "hanging_transactions": {
        "ended": (
            [*ENDED, SAYS(2, last_stable_offset=0, op_id=1001)],
            [("ended-but-open", (1000, 1001))],
        ),
        "its end was acknowledged": (
            [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(61)],
            [("open-for-too-long", (0, 3))],
        ),
        "for longer than its producer allows": (
            [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(80)],
            [("open-for-too-long", (2, 4))],
        ),
        "committed though it had timed out": (
            [INIT, BEGIN, S(1, 0, **TXN, **AT(1)), COMMIT | AT(60), SAYS(1, last_stable_offset=1)],
            [("committed-too-late", (2, 3))],
        ),
        "for longer than any": (
            [
                S(1, 0, **TXN),
                SAYS(
                    1,
                    last_stable_offset=0,
                    final=True,
                    t_invoke_ns=2 * QUARTER,
                    t_complete_ns=2 * QUARTER,
                ),
            ],
            [("open-for-too-long", (0, 1))],
        ),
    },
}
