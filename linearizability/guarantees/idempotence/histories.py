"""Histories written by hand for `idempotence`."""

from linearizability.hand_written.rows import LED, MARKER, NEWER, RAW, Invalid, Row, S, Valid

OUT_OF_ORDER: Row = {"type": "fail", "error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}

VALID: Valid = {
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
    "it named a number of the batch before": [
        S(1, 0, client="raw"),
        S(2, client="raw", sequence=0, **OUT_OF_ORDER),
        RAW(1, 0, **LED),
    ],
    "a library was refused": [S(1, 0), S(2, **OUT_OF_ORDER), RAW(1, 0, **LED)],
    "the first may have any": [RAW(1, 0, sequence=4, **LED), RAW(2, 1, sequence=5, **LED)],
    "behind a hole": [RAW(1, 0, sequence=0, **LED), RAW(2, 5, sequence=5, **LED)],
    "not idempotent": [
        RAW(1, 0, producer_id=-1, sequence=-1, **LED),
        RAW(2, 1, producer_id=-1, sequence=-1, **LED),
    ],
}

INVALID: Invalid = {
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
}
