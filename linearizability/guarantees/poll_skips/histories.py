"""Histories written by hand for `poll_skips`."""

from linearizability.hand_written.rows import (
    ABORT,
    BEGINS,
    COMMIT,
    LOOK_UP,
    RAW,
    RU,
    TOPIC,
    TXN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)

VALID: Valid = {
    "nothing known between": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
    "an aborted record": [
        S(1, 0),
        S(2, 1, **TXN),
        ABORT,
        S(3, 3),
        P(1, 0),
        P(3, 3),
        P(2, 1, process=2, **RU),
    ],
    "a record of unknown outcome": [
        S(1, 0),
        S(2, 1, **TXN),
        S(3, 3),
        P(1, 0),
        P(3, 3),
        P(2, 1, process=2, **RU),
    ],
    "a new session": [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2, session=1)],
    "acks 1 was cut off": [S(1, 0), S(2, 1, acks=1), S(3, 2), P(1, 0), P(3, 2)],
    "below the log start": [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2), WHOLE(3, log_start=2)],
    "control records": [S(1, 0), P(1, 0), P(2, 2), RAW(None, 1, control="commit")],
    "looked up by time": [
        P(1, 0, timestamp_ms=9),
        P(2, 1, timestamp_ms=7),
        P(3, 2, timestamp_ms=8),
        LOOK_UP(0, 8, session=1),
        LOOK_UP(0, 9, session=2),
    ],
    "looked up by time, and what was before is gone": [
        P(1, 0, timestamp_ms=7),
        P(2, 1, timestamp_ms=8),
        LOOK_UP(1, 7, session=1),
        WHOLE(2, log_start=1),
    ],
    "begun behind it": [S(1, 0), S(2, 1), BEGINS(1), P(2, 1)],
    "begun at an unknown offset": [S(1, 0), S(2, 1), BEGINS(None), P(2, 1)],
    "begun at the end": [S(1, 0), BEGINS(1), S(2, 1), P(2, 1)],
    "begun beyond the end": [S(1, 0), BEGINS(7), P(1, 0), S(2, 1), P(2, 1)],
    "begun below the log start": [S(1, 0), S(2, 1), BEGINS(0), P(2, 1), WHOLE(2, log_start=1)],
}

INVALID: Invalid = {
    "a record with a key, of a topic that is not compacted": (
        [
            TOPIC('{"cleanup.policy": "delete"}'),
            S(1, 0, key="k"),
            S(2, 1, key="k"),
            S(3, 2, key="k"),
            P(1, 0, key="k"),
            P(3, 2, key="k"),
        ],
        [("poll-skip", (2, 4, 5))],
    ),
    "a rewind was ignored": (
        [S(1, 0), S(2, 1), P(1, 0), BEGINS(0, session=1), P(2, 1, session=1)],
        [("poll-skip", (0, 3, 4))],
    ),
    "begun behind what the group had committed": (
        [S(1, 0), BEGINS(None, asked="committed", asked_offset=0), S(2, 1), P(2, 1)],
        [("poll-skip", (0, 1, 3))],
    ),
    "the earliest was not the log start": (
        [S(1, 0), S(2, 1), BEGINS(1, asked="earliest", log_start=0), P(2, 1)],
        [("poll-skip", (0, 2, 3)), ("begins-late", (2,))],
    ),
    "a look-up by time passed over the record of that time": (
        [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(1, 7, session=1)],
        [("wrong-look-up", (0, 2))],
    ),
    "a look-up by time ended at an older record": (
        [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(0, 8, session=1)],
        [("wrong-look-up", (0, 2))],
    ),
    "begun before its start": ([S(1, 0), S(2, 1), BEGINS(1), P(1, 0)], [("begins-early", (2, 3))]),
    "an acknowledged record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2)],
        [("poll-skip", (1, 3, 4))],
    ),
    "one that another was given": (
        [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2), P(2, 1, process=2)],
        [("poll-skip", (3, 4, 5))],
    ),
    "a committed record": (
        [S(1, 0), S(2, 1, **TXN), COMMIT, S(3, 3), P(1, 0), P(3, 3)],
        [("poll-skip", (1, 4, 5))],
    ),
    "read_uncommitted, an aborted record": (
        [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **RU), P(3, 3, **RU)],
        [("poll-skip", (1, 4, 5))],
    ),
    "of unknown outcome, given to another": (
        [S(1, 0), S(2, 1, **TXN), S(3, 3), P(1, 0), P(3, 3), P(2, 1, process=2)],
        [("poll-skip", (1, 3, 4))],
    ),
}
