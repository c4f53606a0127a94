"""Histories written by hand for `ends_honoured`."""

from linearizability.hand_written.rows import (
    ABORT,
    ASKS,
    COMMIT,
    COMMITS,
    END,
    RAW,
    RU,
    SENDS_OFFSET,
    TXN,
    UNKNOWN,
    WHOLE,
    Invalid,
    P,
    Row,
    S,
    Valid,
)

INPUTS: Row = {"topic": "inputs"}
OTHER: Row = {"topic": "inputs", "partition": 1}


LATE: Row = {"op_id": 1000, "t_invoke_ns": 5_000, "t_complete_ns": 5_010}
"""The columns of operation 1000, a raw read long after the other operations."""


def WHOLE_READ(*records: Row) -> list[Row]:
    """Return the rows of operation 1000, a whole raw read of the partition long after the other
    operations: these records, and the end of the read."""
    rows = [*records, WHOLE(len(records))]
    return [row | {"record_index": n} | LATE for n, row in enumerate(rows)]


def MARKER(end: str, offset: int) -> Row:
    return RAW(None, offset, control=end)


OFFSET = SENDS_OFFSET(5, **INPUTS)


SENT = [S(1, 0, **TXN), OFFSET]
"""A record, and the group's offset after the input from which it was made."""


TO_COMMIT = WHOLE_READ(RAW(1, 0), MARKER("commit", 1))


TO_ABORT = WHOLE_READ(RAW(1, 0), MARKER("abort", 1))


NEXT_IS_UNKNOWN = [
    SENDS_OFFSET(8, **INPUTS) | {"txn": 2},
    END("commit", 2, type="info"),
    END("abort", 2),
]
"""Transaction 2: an offset, a commit that was not answered, and an abort that was."""


TOLD, TOLD_OTHER, TOLD_NONE = ASKS(5, **INPUTS), ASKS(3, **INPUTS), ASKS(None, **INPUTS)

VALID: Valid = {
    "a committed transaction has its records, offsets and commit marker": (
        [*SENT, COMMIT, *TO_COMMIT, TOLD]
    ),
    "an aborted transaction has an abort marker and no offsets": (
        [*SENT, ABORT, *TO_ABORT, TOLD_NONE]
    ),
    "the coordinator aborted the transaction of a dead client": [S(1, 0, **TXN), *TO_ABORT],
    "a commit that failed has taken effect": (
        [*SENT, END("commit", 1, type="fail"), *TO_COMMIT, TOLD]
    ),
    "an abort follows a commit of unknown outcome": [*SENT, UNKNOWN, ABORT, *TO_COMMIT, TOLD],
    "the commit is answered before its marker is written": (
        [S(1, 0, **TXN), COMMIT, *WHOLE_READ(RAW(1, 0))]
    ),
    "the read ended before the last stable offset had passed the transaction": (
        [S(1, 0, **TXN), COMMIT, S(2, 2), *WHOLE_READ(RAW(1, 0)), P(2, 2, t_complete_ns=6_000)]
    ),
    "a later commit replaced the transaction's offset": (
        [OFFSET, S(1, 0, **TXN), COMMITS(3, **INPUTS), COMMIT, P(1, 0), TOLD_OTHER]
    ),
    "a commit of unknown outcome may have replaced the transaction's offset": (
        [*SENT, COMMITS(3, type="info", **INPUTS), COMMIT, P(1, 0), TOLD_OTHER]
    ),
    "an open transaction may have replaced the offset": [
        *SENT,
        P(7, 4, txn=2, group="g", member_id="m", **INPUTS),
        END("commit", 2, type="info"),
        COMMIT,
        P(1, 0),
        ASKS(9, **INPUTS),
    ],
    "the next transaction sent the aborted one's offset again": [
        *SENT,
        ABORT,
        SENDS_OFFSET(5, **INPUTS) | {"txn": 2},
        S(2, 2, txn=2),
        END("commit", 2),
        P(2, 2),
        TOLD,
    ],
    "the end is unknown, and the offset takes effect only after the coordinator's old answer": [
        COMMITS(3, **INPUTS),
        OFFSET,
        UNKNOWN,
        P(1, 0, **TXN),
        TOLD_OTHER | {"final": False},
        TOLD,
    ],
    "the end is unknown, and no partition has its offset": (
        [OFFSET, SENDS_OFFSET(6, **OTHER), UNKNOWN, S(1, 0), P(1, 0), TOLD_NONE, ASKS(3, **OTHER)]
    ),
    "the last two ends are unknown, and the offset of the first one is in force": (
        [*SENT, UNKNOWN, P(1, 0), *NEXT_IS_UNKNOWN, TOLD]
    ),
    "the last two ends are unknown, and a commit of unknown result explains the offset": (
        [*SENT, UNKNOWN, P(1, 0), COMMITS(3, type="info", **INPUTS), *NEXT_IS_UNKNOWN, TOLD_OTHER]
    ),
    "during the run, a replaced coordinator returns no offset": (
        [*SENT, COMMIT, P(1, 0), ASKS(None, **INPUTS) | {"final": False}]
    ),
    "a raw client commits after a failed send": (
        [S(1, 0, **TXN), S(2, type="fail", client="raw", **TXN), COMMIT, P(1, 0)]
    ),
    "librdkafka refused a record in the call itself": [
        S(1, 0, **TXN),
        S(2, type="fail", client="confluent", error="MESSAGE_TOO_LARGE", **TXN),
        COMMIT,
        P(1, 0),
    ],
    "an application aborts after a failed send": (
        [S(1, 0, **TXN), S(2, type="fail", client="java", **TXN), ABORT]
    ),
    "a producer that has committed refuses to send": (
        [S(1, 0, **TXN), COMMIT, S(2, type="fail", client="java", **TXN), P(1, 0)]
    ),
    "a record outside transactions is acknowledged before the transaction ends": (
        [S(1, 0, **TXN), S(2, 1), COMMIT, P(1, 0), P(2, 1)]
    ),
}

INVALID: Invalid = {
    "committed, but the log has an abort marker": (
        [S(1, 0, **TXN), COMMIT, *TO_ABORT],
        [("committed-but-not", (0, 1, 1000))],
    ),
    "committed, but the group has another offset": (
        [*SENT, COMMIT, P(1, 0), TOLD_OTHER],
        [("committed-but-not", (1, 2, 4))],
    ),
    "committed, but the group has no offset": (
        [*SENT, COMMIT, P(1, 0), TOLD_NONE],
        [("committed-but-not", (1, 2, 4))],
    ),
    "committed, but the group has the offset of an older commit": (
        [COMMITS(3, **INPUTS), *SENT, COMMIT, P(1, 0), TOLD_OTHER],
        [("committed-but-not", (2, 3, 5))],
    ),
    "aborted, but the log has a commit marker": (
        [S(1, 0, **TXN), ABORT, *TO_COMMIT],
        [("aborted-but-committed", (0, 1, 1000))],
    ),
    "aborted, but the group has its offset": (
        [*SENT, ABORT, P(9, 4), TOLD],
        [("aborted-but-committed", (1, 2, 4))],
    ),
    "the log has a commit marker that nobody asked for": (
        [S(1, 0, **TXN), *TO_COMMIT],
        [("committed-unasked", (0, 1000))],
    ),
    "a reader receives a record of a transaction that nobody committed": (
        [S(1, 0, **TXN), END("abort", 1, type="info"), P(1, 0)],
        [("committed-unasked", (0, 2))],
    ),
    "a committed transaction has no marker": (
        [
            S(1, 0, **TXN),
            COMMIT,
            S(2, 2),
            P(2, 2),
            *WHOLE_READ(RAW(1, 0), RAW(2, 2, producer_id=8)),
        ],
        [("no-marker", (0, 1, 3, 1000))],
    ),
    "the next transaction's record stands before the marker": (
        [
            S(1, 0, **TXN),
            COMMIT,
            S(2, 1, txn=2),
            END("commit", 2),
            *WHOLE_READ(RAW(1, 0), RAW(2, 1), MARKER("commit", 2)),
        ],
        [("no-marker", (0, 1, 1000))],
    ),
    "a record arrives after its transaction was aborted": (
        [S(1, None, **TXN, t_complete_ns=None), ABORT, S(2, 0), P(2, 0), P(1, 1, **RU)],
        [("joined-after-its-end", (0, 1, 2))],
    ),
    "a record was sent and accepted after its transaction was committed": (
        [S(1, 0, **TXN), COMMIT, S(2, 2, **TXN), P(1, 0)],
        [("joined-after-its-end", (1, 2))],
    ),
    "a client library committed after a failed send": (
        [S(1, 0, **TXN), S(2, type="fail", client="java", **TXN), COMMIT, P(1, 0)],
        [("committed-over-failed-send", (1, 2))],
    ),
    "a client library committed after a send that it gave up": (
        [S(1, 0, **TXN), S(2, client="confluent", **TXN), COMMIT, P(1, 0)],
        [("committed-over-failed-send", (1, 2))],
    ),
    "outcome unknown: offsets committed, record aborted": (
        [*SENT, UNKNOWN, TOLD, *TO_ABORT],
        [("torn-offsets", (1, 3))],
    ),
    "outcome unknown: the offset of one partition is in force, that of another is not": (
        [OFFSET, SENDS_OFFSET(6, **OTHER), UNKNOWN, S(1, 0), P(1, 0), TOLD, ASKS(3, **OTHER)],
        [("torn-offsets", (0, 5))],
    ),
    "outcome unknown: the offset was not in force, and is later": (
        [COMMITS(3, **INPUTS), OFFSET, UNKNOWN, S(1, 0), P(1, 0), TOLD_OTHER, TOLD],
        [("torn-offsets", (1, 6))],
    ),
    "the last two ends are unknown, the record of the first is committed, and neither offset": (
        [*SENT, UNKNOWN, P(1, 0), *NEXT_IS_UNKNOWN, TOLD_OTHER],
        [("torn-offsets", (1, 7))],
    ),
    "outcome unknown: record committed, offsets not": (
        [*SENT, UNKNOWN, P(1, 0), TOLD_OTHER],
        [("torn-offsets", (1, 4))],
    ),
}
