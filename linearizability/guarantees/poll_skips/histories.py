"""Histories written by hand for `poll_skips`."""

from linearizability.hand_written.rows import (
    ABORT,
    BEGINS,
    COMMIT,
    DELETES,
    LOOK_UP,
    RAW,
    RC,
    RU,
    SAYS,
    TOPIC,
    TXN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)

VALID: Valid = {
    "no record is known at the skipped offset": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
    "the skipped record was aborted": (
        [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0), P(3, 3), P(2, 1, process=2, **RU)]
    ),
    "the skipped record's transaction has an unknown outcome": (
        [S(1, 0), S(2, 1, **TXN), S(3, 3), P(1, 0), P(3, 3), P(2, 1, process=2, **RU)]
    ),
    "a new session begins after the record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2, session=1)]
    ),
    "the skipped record was acknowledged with acks=1 only": (
        [S(1, 0), S(2, 1, acks=1), S(3, 2), P(1, 0), P(3, 2)]
    ),
    "the log start has passed the skipped record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2), WHOLE(3, log_start=2)]
    ),
    "a marker is at the skipped offset": (
        [S(1, 0), P(1, 0), P(2, 2), RAW(None, 1, control="commit")]
    ),
    "a look-up by time returns the first record at or after that time": [
        P(1, 0, timestamp_ms=9),
        P(2, 1, timestamp_ms=7),
        P(3, 2, timestamp_ms=8),
        LOOK_UP(0, 8, session=1),
        LOOK_UP(0, 9, session=2),
    ],
    "a look-up by time ends at the log start": [
        P(1, 0, timestamp_ms=7),
        P(2, 1, timestamp_ms=8),
        LOOK_UP(1, 7, session=1),
        WHOLE(2, log_start=1),
    ],
    "a look-up by time finds nothing, since no record is late enough": [
        P(1, 0, timestamp_ms=7),
        LOOK_UP(None, 8, session=1),
    ],
    "a look-up by time finds nothing before the record is known to be there": [
        LOOK_UP(None, 7, session=1),
        P(1, 0, timestamp_ms=7),
    ],
    "a look-up by time finds nothing, since the first segment's match was deleted": [
        P(1, 0, timestamp_ms=9),
        P(2, 1, timestamp_ms=8),
        DELETES(1, log_start=1),
        LOOK_UP(None, 8, session=1),
    ],
    "a look-up by time finds nothing where records may be compacted away": [
        TOPIC('{"cleanup.policy": "compact"}'),
        P(1, 0, timestamp_ms=9, key="k"),
        LOOK_UP(None, 8, session=1),
    ],
    "a read_committed look-up finds nothing, since an open transaction may come first": [
        S(1, 0, **TXN),
        S(2, 1),
        LOOK_UP(None, 7, session=1, **RC),
        COMMIT,
        P(1, 0, timestamp_ms=7),
        P(2, 1, timestamp_ms=7),
    ],
    "the reader began after the record": [S(1, 0), S(2, 1), BEGINS(1), P(2, 1)],
    "the reader began at an unknown offset": [S(1, 0), S(2, 1), BEGINS(None), P(2, 1)],
    "the reader began at the end of the log": [S(1, 0), BEGINS(1), S(2, 1), P(2, 1)],
    "the reader began beyond the end and was reset to the start": (
        [S(1, 0), BEGINS(7), P(1, 0), S(2, 1), P(2, 1)]
    ),
    "the reader began below the log start": (
        [S(1, 0), S(2, 1), BEGINS(0), P(2, 1), WHOLE(2, log_start=1)]
    ),
}

INVALID: Invalid = {
    "a poll skips a record with a key in a topic that is not compacted": (
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
    "a rewind to an older offset is ignored": (
        [S(1, 0), S(2, 1), P(1, 0), BEGINS(0, session=1), P(2, 1, session=1)],
        [("poll-skip", (0, 3, 4))],
    ),
    "a reader begins after the group's committed offset": (
        [S(1, 0), BEGINS(None, asked="committed", asked_offset=0), S(2, 1), P(2, 1)],
        [("poll-skip", (0, 1, 3))],
    ),
    "a reader asked for the earliest offset and begins after the log start": (
        [S(1, 0), S(2, 1), BEGINS(1, asked="earliest", log_start=0), P(2, 1)],
        [("poll-skip", (0, 2, 3)), ("begins-late", (2,))],
    ),
    "a look-up by time passes over the record of that time": (
        [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(1, 7, session=1)],
        [("wrong-look-up", (0, 2))],
    ),
    "a look-up by time ends at an older record": (
        [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(0, 8, session=1)],
        [("wrong-look-up", (0, 2))],
    ),
    "a look-up by time finds nothing although a record is late enough": (
        [S(1, 0), LOOK_UP(None, 7, session=1, **RC), P(1, 0, timestamp_ms=7)],
        [("missed-look-up", (1, 2))],
    ),
    "a look-up by time finds nothing although a later record was acknowledged before": (
        [
            S(1, 0, **TXN),
            S(2, 1),
            LOOK_UP(None, 7, session=1, **RU),
            P(1, 0, timestamp_ms=9),
            P(2, 1, timestamp_ms=5),
        ],
        [("missed-look-up", (2, 3))],
    ),
    "a read_committed look-up finds nothing below a named last stable offset": (
        [
            S(1, 0, **TXN),
            COMMIT,
            SAYS(2, last_stable_offset=2),
            LOOK_UP(None, 7, session=1, **RC),
            P(1, 0, timestamp_ms=9),
        ],
        [("missed-look-up", (3, 4))],
    ),
    "a poll returns a record before the reader's position": (
        [S(1, 0), S(2, 1), BEGINS(1), P(1, 0)],
        [("begins-early", (2, 3))],
    ),
    "a poll skips an acknowledged record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2)],
        [("poll-skip", (1, 3, 4))],
    ),
    "a poll skips a record that another reader receives": (
        [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2), P(2, 1, process=2)],
        [("poll-skip", (3, 4, 5))],
    ),
    "a poll skips a committed record": (
        [S(1, 0), S(2, 1, **TXN), COMMIT, S(3, 3), P(1, 0), P(3, 3)],
        [("poll-skip", (1, 4, 5))],
    ),
    "a read_uncommitted poll skips an aborted record": (
        [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **RU), P(3, 3, **RU)],
        [("poll-skip", (1, 4, 5))],
    ),
    "a poll skips a record of unknown outcome that another reader receives": (
        [S(1, 0), S(2, 1, **TXN), S(3, 3), P(1, 0), P(3, 3), P(2, 1, process=2)],
        [("poll-skip", (1, 3, 4))],
    ),
}
