"""Histories written by hand for `late_markers`."""

from linearizability.hand_written.rows import LED, MARKER, RAW, TXN, Invalid, S, Valid

VALID: Valid = {
    "the marker follows all records of its transaction": (
        [S(1, 0, **TXN), S(2, 1, **TXN), RAW(1, 0, **LED), RAW(2, 1, **LED), RAW(None, 2, **MARKER)]
    ),
    "a marker of another producer stands between the records": [
        S(1, 0, **TXN),
        S(2, 2, **TXN),
        RAW(1, 0, **LED),
        RAW(None, 1, producer_id=8, **MARKER),
        RAW(2, 2, **LED),
    ],
    "the next transaction's record follows the marker": (
        [S(1, 0, **TXN), S(2, 2, txn=2), RAW(1, 0, **LED), RAW(None, 1, **MARKER), RAW(2, 2, **LED)]
    ),
    "the marker is written twice": (
        [S(1, 0, **TXN), RAW(1, 0, **LED), RAW(None, 1, **MARKER), RAW(None, 2, **MARKER)]
    ),
}

INVALID: Invalid = {
    "a marker stands between two records of its transaction": (
        [
            S(1, 0, **TXN),
            S(2, 2, **TXN),
            RAW(1, 0, **LED),
            RAW(None, 1, **MARKER),
            RAW(2, 2, **LED),
        ],
        [("late-marker", (0, 1, 1000))],
    )
}
