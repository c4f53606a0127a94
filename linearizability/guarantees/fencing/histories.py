"""Histories written by hand for `fencing`."""

from typing import Any

from linearizability.hand_written.rows import (
    ABORT,
    COMMIT,
    END,
    FAULT,
    LED,
    MARKER,
    NEWER,
    RAW,
    SENDS_OFFSET,
    TOPIC,
    TXN,
    Invalid,
    P,
    Row,
    S,
    Valid,
    at,
)

THERE = {"partition": 1}


def GIVES(epoch: int, **more: Any) -> Row:
    """Return the row of an InitProducerId that returned producer id 7 and this epoch."""
    return {"f": "init_producer", "producer_id": 7, "producer_epoch": epoch} | more


SECOND = 1_000_000_000
BY_P: Row = {"transactional_id": "p"}
FENCED: Row = COMMIT | {"type": "fail", "error": "PRODUCER_FENCED"}


def COMES(second: int, **more: Any) -> Row:
    """Return the row of an InitProducerId of transactional id p in this second, with a transaction
    time-out of 10 s."""
    told = {"f": "init_producer", "settings": '{"transaction.timeout.ms": "10000"}'}
    return told | BY_P | at(second) | more


def FROM(second: int, row: Row, **more: Any) -> Row:
    """Return the row, changed so that its operation is invoked and answered in this second."""
    return row | at(second) | more


BEGIN: Row = {"f": "begin", **TXN, **BY_P}
FIVE_SECONDS = [COMES(100), FROM(101, BEGIN), FROM(102, S(1, 0, **TXN)), FROM(106, FENCED)]
"""A transaction that was begun at 101 s and refused as fenced at 106 s."""

OTHER: Row = {"process": 2}
OPEN = FIVE_SECONDS[:3]
"""The same transaction without an end."""

OF_X: Row = {"transactional_id": "x"}
UNCLEAN = TOPIC('{"unclean.leader.election.enable": "true"}')

VALID: Valid = {
    "a send without an answer was appended before the newer epoch was known": [
        S(1, None, **TXN),
        GIVES(1),
        S(2, 1),
        RAW(1, 0),
        RAW(2, 1, producer_id=8),
    ],
    "a send without an answer may have been appended before the newer epoch was known": [
        S(1, None, **TXN),
        S(2, 0),
        GIVES(1),
        RAW(2, 0, producer_id=8),
        RAW(1, 1),
    ],
    "a producer id without epochs left is replaced": (
        [GIVES(32760, **OF_X), GIVES(0, producer_id=8, **OF_X)]
    ),
    "transactions may have used up the epochs of a producer id": [
        GIVES(32755, **OF_X),
        *[row for txn in (1, 2) for row in (S(txn, txn, txn=txn), END("commit", txn))],
        GIVES(0, producer_id=8, **OF_X),
    ],
    "two producers of one transactional id come at a time": (
        [GIVES(0, t_complete_ns=99, **OF_X), GIVES(0, producer_id=8, **OF_X)]
    ),
    "each transactional id has its own producer id": (
        [GIVES(0, **OF_X), GIVES(0, producer_id=8, transactional_id="y")]
    ),
    "an idempotent producer gets a new id at each start": [GIVES(0), GIVES(0, producer_id=8)],
    "an unused transactional id may be forgotten": [
        GIVES(0, **OF_X) | at(0),
        GIVES(0, producer_id=8, **OF_X) | at(61),
    ],
    "the last answer about a transactional id, since forgotten, came late": [
        GIVES(0, **OF_X) | at(0) | {"t_complete_ns": 30 * SECOND},
        GIVES(0, producer_id=8, **OF_X) | at(61),
    ],
    "an unclean election may lose transactional ids": (
        [UNCLEAN, GIVES(0, **OF_X), GIVES(0, producer_id=8, **OF_X)]
    ),
    "a producer is fenced after its transaction timed out": [*FIVE_SECONDS[:3], FROM(112, FENCED)],
    "a producer is fenced by its successor": [*FIVE_SECONDS[:3], COMES(104), FIVE_SECONDS[3]],
    "a successor's InitProducerId has an unknown outcome": (
        [*FIVE_SECONDS[:3], COMES(104, type="info", t_complete_ns=None), FIVE_SECONDS[3]]
    ),
    "a failed begin may have sent an InitProducerId that arrives late": (
        [FROM(50, BEGIN, txn=2, type="fail"), *FIVE_SECONDS]
    ),
    "the producer had asked for an abort": [*FIVE_SECONDS[:3], FROM(105, ABORT), FIVE_SECONDS[3]],
    "no send had joined the transaction": [*FIVE_SECONDS[:2], FIVE_SECONDS[3]],
    "the transaction time-out is unknown": [COMES(100, settings=None), *FIVE_SECONDS[1:]],
    "a fault may have caused InitProducerId to be sent again": (
        [FAULT("Kill", **at(60)), *FIVE_SECONDS]
    ),
    "the newest producer asks for its next epoch": (
        [GIVES(1), GIVES(2, asked="epoch", asked_offset=1), RAW(1, 0)]
    ),
    "the epochs of a producer id grow": [RAW(1, 0, **LED), RAW(2, 1, **NEWER, **LED)],
    "a marker of a newer epoch comes first": (
        [RAW(1, 0, **LED), RAW(None, 1, **NEWER, **MARKER), RAW(2, 2, **NEWER, **LED)]
    ),
    "the older epoch belongs to another producer id": (
        [RAW(1, 0, **NEWER, **LED), RAW(2, 1, producer_id=8, **LED)]
    ),
    "the newer epoch is that of the producer's own next transaction": (
        [S(1, 0, **TXN), COMMIT, S(2, 0, txn=2, **THERE), RAW(1, 0), RAW(2, 0, **NEWER, **THERE)]
    ),
    "the send began before the newer epoch was given out": (
        [S(1, 0, **TXN, t_complete_ns=99), GIVES(1), RAW(1, 0)]
    ),
    "the newer epoch belongs to another producer id": (
        [GIVES(1, producer_id=8), S(1, 0, **TXN), RAW(1, 0), COMMIT]
    ),
    "the producer also wrote under the newer epoch": (
        [GIVES(1), S(1, 0, **TXN), RAW(1, 0), RAW(1, 1, **NEWER)]
    ),
    "the fenced producer's commit was refused": (
        [S(1, 0, **TXN), GIVES(1), COMMIT | {"type": "fail"}, RAW(1, 0)]
    ),
    "InitProducerId returned two epochs in turn": [GIVES(1), GIVES(2), RAW(1, 0)],
    "a producer of another transactional id comes": (
        [*OPEN, COMES(104, **OTHER, transactional_id="q"), FROM(106, COMMIT)]
    ),
    "the successor's InitProducerId had not returned when the request began": (
        [*OPEN, COMES(104, **OTHER, t_complete_ns=107 * SECOND), FROM(106, ABORT)]
    ),
    "a successor commits a transaction of its own": [
        *OPEN,
        COMES(104, process=2),
        FROM(105, BEGIN, txn=2, process=2),
        FROM(106, S(2, 2, txn=2, process=2)),
        FROM(107, COMMIT, txn=2, process=2),
    ],
    "a client ends an empty transaction without a request, after a successor came": (
        [*OPEN[:2], COMES(104, **OTHER), FROM(106, COMMIT)]
    ),
    "a client repeats a commit whose answer was lost, after a successor came": [
        *OPEN,
        FROM(103, COMMIT, type="info"),
        COMES(104, **OTHER),
        FROM(106, COMMIT),
    ],
    "a process asks for its own producer only after it has begun": (
        [*OPEN[1:2], COMES(101, t_complete_ns=102 * SECOND), FROM(102, S(1, 0, **TXN))]
    ),
    "the own process asked again after its successor": [
        *OPEN,
        COMES(104, **OTHER),
        COMES(105),
        FROM(106, COMMIT),
    ],
    "a successor sent the same value as the send that was refused": [
        *OPEN[:2],
        COMES(104, **OTHER),
        FROM(105, BEGIN, txn=2, **OTHER),
        FROM(106, S(1, None, **TXN, type="fail")),
        FROM(107, S(1, 0, txn=2, **OTHER)),
        FROM(108, COMMIT, txn=2, **OTHER),
        FROM(109, P(1, 0)),
    ],
    "an unclean election may lose the successor": (
        [UNCLEAN, *OPEN, COMES(104, **OTHER), FROM(106, COMMIT)]
    ),
}

INVALID: Invalid = {
    "a send without an answer is appended after the newer epoch was known": (
        [S(1, None, **TXN), GIVES(1), S(2, 0), RAW(2, 0, producer_id=8), RAW(1, 1)],
        [("zombie-writes", (1, 2))],
    ),
    "a transactional id gets another producer id": (
        [GIVES(3, **OF_X), GIVES(0, producer_id=8, **OF_X)],
        [("other-producer-id", (0, 1))],
    ),
    "a transactional id gets another producer id, after one that gets its own": (
        [GIVES(0, **OF_X), GIVES(1, **OF_X), GIVES(0, producer_id=8, **OF_X)],
        [("other-producer-id", (1, 2))],
    ),
    "a producer without a successor is fenced within its time-out": (
        FIVE_SECONDS,
        [("fenced-early", (1, 3))],
    ),
    "a producer is fenced within its time-out, long after a fault": (
        [FAULT("Kill", **at(10)), FAULT("Heal", **at(20)), *FIVE_SECONDS],
        [("fenced-early", (3, 5))],
    ),
    "a producer is fenced when another transactional id gets a producer": (
        [*FIVE_SECONDS[:3], COMES(104, transactional_id="q"), FIVE_SECONDS[3]],
        [("fenced-early", (1, 4))],
    ),
    "a record of an older epoch follows a newer one": (
        [RAW(1, 0, **NEWER, **LED), RAW(2, 1, **LED)],
        [("fenced-epoch-writes", (1000,))],
    ),
    "a record of an older epoch follows a newer marker": (
        [RAW(1, 0, **LED), RAW(None, 1, **NEWER, **MARKER), RAW(2, 2, **LED)],
        [("fenced-epoch-writes", (1000,))],
    ),
    "a marker of an older epoch follows a newer record": (
        [RAW(1, 0, **NEWER, **LED), RAW(None, 1, **MARKER)],
        [("fenced-epoch-writes", (1000,))],
    ),
    "a producer writes after InitProducerId returned a newer epoch": (
        [GIVES(1), S(1, 0, **TXN), RAW(1, 0)],
        [("zombie-writes", (0, 1))],
    ),
    "a fenced producer's record is in the log without an acknowledgement": (
        [GIVES(1), S(1, None, **TXN), RAW(1, 0)],
        [("zombie-writes", (0, 1))],
    ),
    "a producer writes after a newer epoch wrote to another partition": (
        [S(1, 0, txn=2, **THERE), S(2, 0, **TXN), RAW(1, 0, **NEWER, **THERE), RAW(2, 0)],
        [("zombie-writes", (0, 1))],
    ),
    "a fenced producer commits an offset": (
        [GIVES(1), SENDS_OFFSET(5, producer_id=7, producer_epoch=0)],
        [("zombie-commits-offsets", (0, 1))],
    ),
    "a fenced producer commits its transaction": (
        [S(1, 0, **TXN), GIVES(1), COMMIT, RAW(1, 0)],
        [("zombie-ends", (1, 2))],
    ),
    "a fenced producer receives the next epoch": (
        [GIVES(1), GIVES(2, asked="epoch", asked_offset=0), RAW(1, 0)],
        [("zombie-rejoins", (0, 1))],
    ),
    "a transaction is committed after a successor came": (
        [*OPEN, COMES(104, **OTHER), FROM(106, COMMIT)],
        [("superseded-producer", (3, 4))],
    ),
    "a transaction is committed after the second of two successors came": (
        [
            *OPEN,
            COMES(103, **OTHER, type="info", t_complete_ns=109 * SECOND),
            COMES(104, process=3),
            FROM(106, COMMIT),
        ],
        [("superseded-producer", (4, 5))],
    ),
    "a producer writes to another partition after a successor came": (
        [*OPEN, COMES(104, **OTHER), FROM(106, S(2, 0, **TXN, **THERE)), FROM(107, FENCED)],
        [("superseded-producer", (3, 4))],
    ),
    "a producer begins a transaction after a successor came": (
        [OPEN[0], COMES(100, **OTHER) | at(101), *[FROM(102, row) for row in OPEN[1:]]],
        [("superseded-producer", (1, 3))],
    ),
    "a reader receives a record that was refused, since a successor had come": (
        [
            *OPEN[:2],
            COMES(104, **OTHER),
            FROM(106, S(1, None, **TXN, type="fail")),
            FROM(107, P(1, 0)),
        ],
        [("superseded-producer", (2, 3))],
    ),
    "a commit that was refused, since a successor had come, takes effect": (
        [*OPEN, COMES(104, **OTHER), FROM(106, FENCED), FROM(107, P(1, 0))],
        [("superseded-producer", (3, 4))],
    ),
    "a transaction without records gets an offset after a successor came": (
        [*OPEN[:2], COMES(104, **OTHER), FROM(106, SENDS_OFFSET(5))],
        [("superseded-producer", (2, 3))],
    ),
    "InitProducerId returned one epoch twice": (
        [GIVES(1), GIVES(1), RAW(1, 0)],
        [("reused-epoch", (0, 1))],
    ),
    "InitProducerId returned an older epoch": (
        [GIVES(2), GIVES(1), RAW(1, 0)],
        [("reused-epoch", (0, 1))],
    ),
}
