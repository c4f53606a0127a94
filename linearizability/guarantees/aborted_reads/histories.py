"""Histories written by hand for `aborted_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, END, RAW, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "committed": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "plain": [S(1, 0), S(2, 1, **TXN), P(1, 0)],
    "read_uncommitted may": [S(1, 0, **TXN), ABORT, S(2, 2), P(1, 0, **RU), P(2, 2)],
    "commit answered by an error": [S(1, 0, **TXN), END("commit", 1, type="fail"), P(1, 0)],
    "commit unknown, then aborted": [S(1, 0, **TXN), END("commit", 1, type="info"), ABORT, P(1, 0)],
    "never ended": [S(1, 0, **TXN), P(1, 0)],
    "abort unknown": [S(1, 0, **TXN), END("abort", 1, type="info"), P(1, 0)],
    "the marker says commit": [
        S(1, 0, **TXN),
        ABORT,
        P(1, 0),
        RAW(1, 0),
        RAW(None, 1, control="commit"),
    ],
    "the next marker is of another producer": [
        S(1, 0, **TXN),
        P(1, 0),
        RAW(1, 0),
        RAW(None, 1, control="abort", producer_id=8),
    ],
}

INVALID: Invalid = {
    "abort acknowledged": ([S(1, 0, **TXN), ABORT, P(1, 0)], [("aborted-read", (0, 2))]),
    "by its marker": (
        [S(1, 0, **TXN), P(1, 0), RAW(1, 0), RAW(None, 1, control="abort")],
        [("aborted-read", (0, 1))],
    ),
    "by the marker in another partition": (
        [
            S(1, 0, **TXN),
            S(2, 0, **TXN, partition=1),
            P(1, 0),
            RAW(2, 0, partition=1),
            RAW(None, 1, partition=1, control="abort"),
        ],
        [("aborted-read", (0, 2))],
    ),
    "the reader itself failed": (
        [S(1, 0, **TXN), ABORT, P(1, 0, type="fail")],
        [("aborted-read", (0, 2))],
    ),
    "of unknown sends": ([S(1, **TXN), ABORT, P(1, 0)], [("aborted-read", (0, 2))]),
}
