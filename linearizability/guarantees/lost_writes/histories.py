"""Histories written by hand for `lost_writes`."""

from linearizability.hand_written.rows import (
    ABORT,
    COMMIT,
    END,
    LOG,
    RAW,
    RC,
    RU,
    TXN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)

VALID: Valid = {
    "the log of a leader that may have been deposed ends below an acknowledged record": (
        [S(1, 0), S(2, 1), P(1, 0), WHOLE(1)]
    ),
    "the log of a leader that may have been deposed ends below a record that was read": (
        [S(1, 0), P(1, 0), P(2, 1), *LOG(1, final=False, process=8)]
    ),
    "every acknowledged record is read": [S(1, 0), S(2, 1), P(1, 0), P(2, 1)],
    "no reader went on to the last record": [S(1, 0), S(2, 1), P(1, 0)],
    "a record of unknown outcome is never read": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
    "a record acknowledged with acks=1 is not read": [S(1, 0, acks=1), S(2, 1), P(2, 1)],
    "a record sent with acks=0 is not read": [S(1, None, acks=0, type="ok"), S(2, 1), P(2, 1)],
    "an aborted record is not read": [S(1, 0, **TXN), ABORT, S(2, 2), P(2, 2)],
    "a record of a transaction of unknown outcome is not read": (
        [S(1, 0, **TXN), END("commit", 1, type="info"), S(2, 2), P(2, 2)]
    ),
    "the only record read at a higher offset was aborted": (
        [S(1, 0), S(2, 1, **TXN), ABORT, P(2, 1, **RU)]
    ),
    "the log start has passed the record": [S(1, 0), S(2, 1), P(2, 1), WHOLE(2, log_start=1)],
    "a failed poll received the record": [S(1, 0), S(2, 1), P(1, 0, type="info"), P(2, 1)],
    "a group began after the record": [S(1, 0), S(2, 1), S(3, 2), P(2, 1, group="g")],
    "the whole log was read before the send": [WHOLE(0), S(1, 0)],
    "a record of unknown outcome is read and in the final log": (
        [S(1, 0), S(2), P(1, 0), P(2, 1), *LOG(1, 2)]
    ),
    "a record of unknown outcome is read after the final log was": (
        [S(1, 0), *LOG(1), S(2), P(2, 1)]
    ),
    "the log start has passed a record that was read": (
        [S(1, 0), P(1, 0), *LOG(None, 2, log_start=1), S(2, 1)]
    ),
    "the final log has another record at the offset": [S(1, 0), S(2), P(2, 1), *LOG(1, 3)],
    "a follower's log ends before the record": [S(1, 0), S(2), P(2, 1), *LOG(1, replica=2)],
    "an open transaction hides the record from read_committed readers": (
        [S(1, 0, **TXN), S(2, 1), S(3, 2, txn=2), END("commit", 2), WHOLE(3, **RC)]
    ),
    "the topic was deleted and created again": (
        [S(1, 0, topic_id="a"), P(2, 5, topic_id="b"), S(2, 5, topic_id="b")]
    ),
}

INVALID: Invalid = {
    "a reader passes over an acknowledged record": (
        [S(1, 0), S(2, 1), P(2, 1)],
        [("lost-write", (0, 2))],
    ),
    "a reader passes over a committed record": (
        [S(1, 0, **TXN), COMMIT, S(2, 2), P(2, 2)],
        [("lost-write", (0, 3))],
    ),
    "a reader passes over a record whose transaction has a commit marker": (
        [
            S(1, 0, **TXN),
            S(4, 3, **TXN, partition=1),
            S(2, 2),
            P(2, 2),
            RAW(4, 3, partition=1),
            RAW(None, 4, partition=1, control="commit"),
        ],
        [("lost-write", (0, 3))],
    ),
    "the whole log was read, and an acknowledged record is not in it": (
        [S(1, 0), WHOLE(3)],
        [("lost-write", (0, 1))],
    ),
    "a record that was read is missing at the end of the final log": (
        [S(1, 0), S(2), P(2, 1), *LOG(1)],
        [("vanished-record", (2, 1000))],
    ),
    "an acknowledged record is missing from one final read, but not from a later one": (
        [S(1, 0), S(2, 1), *LOG(1), P(2, 1, op_id=1001)],
        [("vanished-record", (1, 1000))],
    ),
    "a record that was read is missing inside the final log": (
        [S(1, 0), S(3, 2), S(2), P(2, 1), *LOG(1, None, 3)],
        [("vanished-record", (3, 1000))],
    ),
    "an acknowledged record that was read is missing from the final log": (
        [S(1, 0), S(2, 1), P(2, 1), *LOG(1)],
        [("vanished-record", (2, 1000))],
    ),
    "an acknowledged record is missing at the end of the log": (
        [S(1, 0), S(2, 1), P(1, 0), WHOLE(1, final=True)],
        [("lost-write", (1, 3))],
    ),
    "a group passes over an acknowledged record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0, group="g"), P(3, 2, group="g")],
        [("lost-write", (1, 4))],
    ),
    "an acknowledged record is read in another partition only": (
        [S(1, 0), S(2, 1), P(2, 1), P(1, 0, partition=1)],
        [("lost-write", (0, 2))],
    ),
}
