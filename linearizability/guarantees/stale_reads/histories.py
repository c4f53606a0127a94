"""Histories written by hand for `stale_reads`."""

from linearizability.hand_written.rows import (
    END,
    FAULT,
    PLACE,
    TXN,
    WHOLE,
    Invalid,
    P,
    Row,
    S,
    Valid,
    at,
)

MEMBER = {"group": "g", "member_id": "m"}


def ASSIGN(**more: object) -> Row:
    """Return the assignment of the partition to process 1."""
    return PLACE | {"f": "assign", "process": 1} | more


def NOTHING(**more: object) -> Row:
    """Return a poll of process 1 that receives nothing."""
    return {"f": "poll", "process": 1, "isolation": "read_committed"} | more


BEGUN = [ASSIGN(**at(0)), S(1, 0, **at(1))]
"""A reader, and a record for it."""

VALID: Valid = {
    "in time": [*BEGUN, NOTHING(**at(30)), P(1, 0, **at(59))],
    "given long ago": [*BEGUN, P(1, 0, **at(2)), NOTHING(**at(3600))],
    "nobody asked": [*BEGUN, P(1, 0, **at(3600))],
    "one that comes back is given something else first": [
        *BEGUN,
        ASSIGN(partition=1, **at(2)),
        P(9, 0, partition=1, **at(3600)),
        P(1, 0, **at(3601)),
    ],
    "maybe given to a poll that never told what, before it was assigned anew": [
        *BEGUN,
        NOTHING(type="info", **at(2)),
        ASSIGN(**at(3)),
        NOTHING(**at(3600)),
    ],
    "assigned late": [S(1, 0, **at(0)), ASSIGN(**at(3590)), NOTHING(**at(3600))],
    "another partition is read": [*BEGUN, ASSIGN(partition=1, **at(2)), NOTHING(**at(3600))],
    "of unknown outcome": [ASSIGN(**at(0)), S(1, **at(1)), NOTHING(**at(3600))],
    "acks 1 proves nothing": [ASSIGN(**at(0)), S(1, 0, acks=1, **at(1)), NOTHING(**at(3600))],
    "aborted": [
        ASSIGN(**at(0)),
        S(1, 0, **TXN, **at(1)),
        END("abort", 1, **at(2)),
        NOTHING(**at(3600)),
    ],
    "behind an open transaction": [
        ASSIGN(**at(0)),
        S(1, 0, **TXN, **at(1)),
        S(2, 1, **at(2)),
        NOTHING(**at(3600)),
    ],
    "a fault goes on": [*BEGUN, FAULT("Kill", **at(2)), NOTHING(**at(3600))],
    "healed a moment ago": [
        *BEGUN,
        FAULT("Kill", **at(2)),
        FAULT("Heal", **at(3590)),
        NOTHING(**at(3600)),
    ],
    "deleted": [*BEGUN, NOTHING(**at(3600)), WHOLE(1, log_start=1, **at(3700))],
    "a poll never told what it gave": [*BEGUN, NOTHING(type="info", **at(2)), NOTHING(**at(3600))],
    "a slow reader goes on": [
        *BEGUN,
        S(2, 1, **at(2)),
        P(1, 0, **at(50)),
        NOTHING(**at(100)),
        P(2, 1, **at(109)),
    ],
    "the group rebalances": [
        ASSIGN(**MEMBER, **at(0)),
        S(1, 0, **at(1)),
        {"f": "subscribe", "process": 2, "group": "g"} | at(50),
        NOTHING(**MEMBER, **at(99)),
    ],
}

INVALID: Invalid = {
    "what the nemesis did long ago has no known name": (
        [*BEGUN, FAULT("Dance", **at(2)), NOTHING(**at(3600))],
        [("stale-read", (0, 1, 3))],
    ),
    "nothing returned for an hour": (
        [*BEGUN, NOTHING(**at(3600)), P(1, 0, **at(3601))],
        [("stale-read", (0, 1, 2))],
    ),
    "others were given": (
        [*BEGUN, P(9, 0, partition=1, **at(10)), P(10, 1, partition=1, **at(62))],
        [("stale-read", (0, 1, 3))],
    ),
    "nothing again, after a poll that never told what it gave": (
        [
            *BEGUN,
            NOTHING(type="info", **at(2)),
            ASSIGN(**at(3)),
            P(1, 0, **at(4)),
            S(2, 1, **at(5)),
            NOTHING(**at(3600)),
        ],
        [("stale-read", (4, 5, 6))],
    ),
    "it stops in the middle": (
        [*BEGUN, P(1, 0, **at(2)), S(2, 1, **at(10)), NOTHING(**at(71))],
        [("stale-read", (2, 3, 4))],
    ),
    "given to somebody else": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), P(1, 0, process=2, **at(2)), NOTHING(**at(63))],
        [("stale-read", (0, 2, 3))],
    ),
    "committed": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), END("commit", 1, **at(2)), NOTHING(**at(63))],
        [("stale-read", (0, 1, 3))],
    ),
    "long after a heal": (
        [*BEGUN, FAULT("Kill", **at(2)), FAULT("Heal", **at(3)), NOTHING(**at(64))],
        [("stale-read", (0, 1, 4))],
    ),
    "to a group": (
        [ASSIGN(**MEMBER, **at(0)), S(1, 0, **at(1)), NOTHING(**MEMBER, **at(62))],
        [("stale-read", (0, 1, 2))],
    ),
}
