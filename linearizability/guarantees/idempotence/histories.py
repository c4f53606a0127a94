"""Histories written by hand for `idempotence`."""

from linearizability.hand_written.rows import LED, MARKER, NEWER, RAW, Invalid, Row, S, Valid

OUT_OF_ORDER: Row = {"type": "fail", "error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}

VALID: Valid = {
    "each sequence number follows the one before": (
        [RAW(1, 0, **LED), RAW(2, 1, **LED), RAW(3, 2, **LED)]
    ),
    "the sequence number wraps from 2^31 - 1 to 0": (
        [RAW(1, 0, sequence=2**31 - 1, **LED), RAW(2, 1, sequence=0, **LED)]
    ),
    "each producer id has its own sequence": (
        [RAW(1, 0, **LED), RAW(2, 1, producer_id=8, sequence=0, **LED)]
    ),
    "a new epoch begins at sequence 0": (
        [RAW(1, 0, sequence=5, **LED), RAW(2, 1, sequence=0, **NEWER, **LED)]
    ),
    "a marker has no sequence number": (
        [RAW(1, 0, sequence=0, **LED), RAW(None, 1, **MARKER), RAW(2, 2, sequence=1, **LED)]
    ),
    "a batch of a transaction is refused; fencing may be the reason": (
        [S(1, 0, client="raw"), S(2, client="raw", txn=1, **OUT_OF_ORDER), RAW(1, 0, **LED)]
    ),
    "the refused batch repeated a sequence number": (
        [S(1, 0, client="raw"), S(2, client="raw", sequence=0, **OUT_OF_ORDER), RAW(1, 0, **LED)]
    ),
    "a client library's batch was refused": [S(1, 0), S(2, **OUT_OF_ORDER), RAW(1, 0, **LED)],
    "a producer's first known batch may have any sequence number": (
        [RAW(1, 0, sequence=4, **LED), RAW(2, 1, sequence=5, **LED)]
    ),
    "records between two batches are unknown": (
        [RAW(1, 0, sequence=0, **LED), RAW(2, 5, sequence=5, **LED)]
    ),
    "the producer was not idempotent": [
        RAW(1, 0, producer_id=-1, sequence=-1, **LED),
        RAW(2, 1, producer_id=-1, sequence=-1, **LED),
    ],
}

INVALID: Invalid = {
    "a sequence number is missing": (
        [RAW(1, 0, sequence=0, **LED), RAW(2, 1, sequence=2, **LED)],
        [("sequence-does-not-follow", (1000,))],
    ),
    "a batch with the next sequence number is refused": (
        [S(1, 0, client="raw"), S(2, client="raw", **OUT_OF_ORDER), RAW(1, 0, **LED)],
        [("in-order-refused", (1,))],
    ),
    "a sequence number is in the log twice": (
        [RAW(1, 0, sequence=0, **LED), RAW(1, 1, sequence=0, **LED)],
        [("sequence-does-not-follow", (1000,))],
    ),
    "a new epoch does not begin at sequence 0": (
        [RAW(1, 0, sequence=0, **LED), RAW(2, 1, sequence=1, **NEWER, **LED)],
        [("sequence-does-not-follow", (1000,))],
    ),
}
