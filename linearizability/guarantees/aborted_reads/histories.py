"""Histories written by hand for `aborted_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, END, RAW, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "a committed record is read": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "a record outside transactions is read, beside an open transaction": (
        [S(1, 0), S(2, 1, **TXN), P(1, 0)]
    ),
    "a read_uncommitted reader receives an aborted record": (
        [S(1, 0, **TXN), ABORT, S(2, 2), P(1, 0, **RU), P(2, 2)]
    ),
    "the commit failed, so the outcome is unknown": (
        [S(1, 0, **TXN), END("commit", 1, type="fail"), P(1, 0)]
    ),
    "an abort follows a commit of unknown outcome": (
        [S(1, 0, **TXN), END("commit", 1, type="info"), ABORT, P(1, 0)]
    ),
    "no end of the transaction was recorded": [S(1, 0, **TXN), P(1, 0)],
    "the abort has an unknown outcome": [S(1, 0, **TXN), END("abort", 1, type="info"), P(1, 0)],
    "an abort was acknowledged, but the log has a commit marker": (
        [S(1, 0, **TXN), ABORT, P(1, 0), RAW(1, 0), RAW(None, 1, control="commit")]
    ),
    "the abort marker belongs to another producer": (
        [S(1, 0, **TXN), P(1, 0), RAW(1, 0), RAW(None, 1, control="abort", producer_id=8)]
    ),
}

INVALID: Invalid = {
    "the transaction's abort was acknowledged": (
        [S(1, 0, **TXN), ABORT, P(1, 0)],
        [("aborted-read", (0, 2))],
    ),
    "the log has an abort marker": (
        [S(1, 0, **TXN), P(1, 0), RAW(1, 0), RAW(None, 1, control="abort")],
        [("aborted-read", (0, 1))],
    ),
    "another partition has the transaction's abort marker": (
        [
            S(1, 0, **TXN),
            S(2, 0, **TXN, partition=1),
            P(1, 0),
            RAW(2, 0, partition=1),
            RAW(None, 1, partition=1, control="abort"),
        ],
        [("aborted-read", (0, 2))],
    ),
    "the poll that returned the aborted record failed afterwards": (
        [S(1, 0, **TXN), ABORT, P(1, 0, type="fail")],
        [("aborted-read", (0, 2))],
    ),
    "the send of the aborted record has an unknown outcome": (
        [S(1, **TXN), ABORT, P(1, 0)],
        [("aborted-read", (0, 2))],
    ),
}
