"""Histories written by hand for `readable_partitions`."""

from typing import Any

from linearizability.hand_written.rows import PLACE, SECOND_NS, TOPIC, Invalid, Row, Valid

REFUSED: Row = {"type": "fail", "error": "FENCED_LEADER_EPOCH", "node": 1, "asked": "answered"}
UNANSWERED: Row = {"type": "info", "error": "_NO_ANSWER", "node": 1, "asked": "answered"}
SILENT: Row = {"type": "info", "error": "_NO_ANSWER", "node": 1, "asked": "silent"}
READ: Row = {"type": "ok", "node": 1}
LEADERLESS: Row = {"type": "fail", "error": "LEADER_NOT_AVAILABLE", "asked": "answered"}


def TRIES(*ends: Row, apart_s: int = 10, **more: Any) -> list[Row]:
    """Return tries to read the partition on from offset 3, one every `apart_s` seconds, which take
    a second, and which end like this."""
    own = PLACE | {"f": "try_read", "final": True, "asked_offset": 3, "client": "raw"}
    return [
        own
        | {"t_invoke_ns": n * apart_s * SECOND_NS, "t_complete_ns": (n * apart_s + 1) * SECOND_NS}
        | end
        | more
        for n, end in enumerate(ends)
    ]


_FAILED: Valid = {
    "a try succeeds": TRIES(*[REFUSED] * 9, READ),
    "too few tries fail": TRIES(*[REFUSED] * 4, apart_s=20),
    "the tries fail for a short time": TRIES(*[REFUSED] * 9, apart_s=5),
    "the reader goes on": [
        *TRIES(*[REFUSED] * 5),
        *[row | {"asked_offset": 4} for row in TRIES(*[REFUSED] * 9)[5:]],
    ],
    "the node answers nothing": TRIES(*[SILENT] * 9),
    "the node answers seldom": TRIES(*[UNANSWERED, SILENT, SILENT] * 5),
    "the node's disk has failed": TRIES(*[REFUSED | {"error": "KAFKA_STORAGE_ERROR"}] * 9),
    "no live replica is in sync": TRIES(
        *[LEADERLESS | {"error": "_NO_LIVE_REPLICA", "asked": None}] * 9
    ),
    "faults are not healed yet": TRIES(*[REFUSED] * 9, final=False),
    "compaction may have removed the last records": [
        TOPIC('{"cleanup.policy": "compact"}'),
        *TRIES(*[REFUSED | {"error": "_NO_RECORDS"}] * 9),
    ],
}
"""Title -> tries of a partition that prove nothing."""

VALID: Valid = {title: [*rows, *TRIES(READ, partition=1)] for title, rows in _FAILED.items()}

INVALID: Invalid = {
    "a leader refuses every fetch for a minute": (
        TRIES(*[REFUSED] * 7),
        [("unreadable-partition", (0, 6))],
    ),
    "a leader does not answer fetches, but other requests": (
        TRIES(READ, SILENT, *[UNANSWERED] * 6),
        [("unreadable-partition", (2, 7))],
    ),
    "a partition gets no leader though a replica in sync lives": (
        TRIES(*[LEADERLESS] * 6, asked_offset=None),
        [("unreadable-partition", (0, 5))],
    ),
    "a leader gives no records though there are some": (
        [TOPIC(), *TRIES(*[REFUSED | {"error": "_NO_RECORDS"}] * 6)],
        [("unreadable-partition", (1, 6))],
    ),
}
