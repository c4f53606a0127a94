"""Histories written by hand for `stale_reads`."""

from linearizability.hand_written.rows import (
    BEGINS,
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
    "the record is returned within the limit": [*BEGUN, NOTHING(**at(30)), P(1, 0, **at(59))],
    "the record was returned long ago": [*BEGUN, P(1, 0, **at(2)), NOTHING(**at(3600))],
    "nobody polled": [*BEGUN, P(1, 0, **at(3600))],
    "the first poll after a long pause returns something else": [
        *BEGUN,
        ASSIGN(partition=1, **at(2)),
        P(9, 0, partition=1, **at(3600)),
        P(1, 0, **at(3601)),
    ],
    "a poll of unknown outcome may have received the record before a new assignment": (
        [*BEGUN, NOTHING(type="info", **at(2)), ASSIGN(**at(3)), NOTHING(**at(3600))]
    ),
    "the partition was assigned only a moment ago": (
        [S(1, 0, **at(0)), ASSIGN(**at(3590)), NOTHING(**at(3600))]
    ),
    "the reader was assigned another partition": (
        [*BEGUN, ASSIGN(partition=1, **at(2)), NOTHING(**at(3600))]
    ),
    "the record has an unknown outcome": [ASSIGN(**at(0)), S(1, **at(1)), NOTHING(**at(3600))],
    "the record was acknowledged with acks=1 only": (
        [ASSIGN(**at(0)), S(1, 0, acks=1, **at(1)), NOTHING(**at(3600))]
    ),
    "the record was aborted": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), END("abort", 1, **at(2)), NOTHING(**at(3600))]
    ),
    "an open transaction hides the record": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), S(2, 1, **at(2)), NOTHING(**at(3600))]
    ),
    "a fault is still active": [*BEGUN, FAULT("Kill", **at(2)), NOTHING(**at(3600))],
    "the fault was healed a moment ago": (
        [*BEGUN, FAULT("Kill", **at(2)), FAULT("Heal", **at(3590)), NOTHING(**at(3600))]
    ),
    "the log start has passed the record": (
        [*BEGUN, NOTHING(**at(3600)), WHOLE(1, log_start=1, **at(3700))]
    ),
    "a poll of unknown outcome may have received the record": (
        [*BEGUN, NOTHING(type="info", **at(2)), NOTHING(**at(3600))]
    ),
    "a poll of unknown outcome that has no end may still receive the record": (
        [
            *BEGUN,
            NOTHING(type="info", t_complete_ns=None, t_invoke_ns=at(2)["t_invoke_ns"]),
            S(2, 1, **at(50)),
            NOTHING(**at(3600)),
        ]
    ),
    "the reader gave the partition up before its poll of unknown outcome": [
        *BEGUN,
        ASSIGN(partition=1, **at(2)),
        NOTHING(type="info", **at(3)),
        S(2, 1, **at(5)),
        NOTHING(**at(3600)),
    ],
    "the reader began at the end of the log": [
        S(1, 0, **at(0)),
        ASSIGN(**at(1)),
        BEGINS(None, asked="latest", **at(2)),
        NOTHING(**at(3600)),
    ],
    "the reader sought past the record": [
        *BEGUN,
        BEGINS(1, asked="offset", **at(2)),
        NOTHING(**at(3600)),
    ],
    "a group's member began at the position that the group had committed": [
        S(1, 0, **at(0)),
        ASSIGN(**MEMBER, **at(1)),
        BEGINS(1, asked="committed", asked_offset=1, **MEMBER, **at(2)),
        NOTHING(**MEMBER, **at(3600)),
    ],
    "a slow reader still receives older records": (
        [*BEGUN, S(2, 1, **at(2)), P(1, 0, **at(50)), NOTHING(**at(100)), P(2, 1, **at(109))]
    ),
    "the group rebalances": [
        ASSIGN(**MEMBER, **at(0)),
        S(1, 0, **at(1)),
        {"f": "subscribe", "process": 2, "group": "g"} | at(50),
        NOTHING(**MEMBER, **at(99)),
    ],
}

INVALID: Invalid = {
    "a reader that began at the end of the log receives nothing of what is sent later": (
        [
            ASSIGN(**at(0)),
            S(1, 0, **at(1)),
            BEGINS(None, asked="latest", **at(2)),
            S(2, 1, **at(5)),
            NOTHING(**at(3600)),
        ],
        [("stale-read", (2, 3, 4))],
    ),
    "a reader receives nothing after it sought back": (
        [*BEGUN, P(1, 0, **at(2)), BEGINS(0, **at(3)), NOTHING(**at(3600))],
        [("stale-read", (1, 3, 4))],
    ),
    "a reader that requested the earliest record receives nothing": (
        [
            S(1, 0, **at(1)),
            ASSIGN(**at(2)),
            BEGINS(None, asked="earliest", **at(3)),
            NOTHING(**at(3600)),
        ],
        [("stale-read", (0, 2, 3))],
    ),
    "nothing is returned for an hour after a fault of unknown name": (
        [*BEGUN, FAULT("Dance", **at(2)), NOTHING(**at(3600))],
        [("stale-read", (0, 1, 3))],
    ),
    "polls return nothing for an hour": (
        [*BEGUN, NOTHING(**at(3600)), P(1, 0, **at(3601))],
        [("stale-read", (0, 1, 2))],
    ),
    "polls return only another partition's records": (
        [*BEGUN, P(9, 0, partition=1, **at(10)), P(10, 1, partition=1, **at(62))],
        [("stale-read", (0, 1, 3))],
    ),
    "polls return nothing again, after one of unknown outcome": (
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
    "polls return nothing of what was sent after one of unknown outcome": (
        [*BEGUN, NOTHING(type="info", **at(2)), S(2, 1, **at(5)), NOTHING(**at(3600))],
        [("stale-read", (2, 3, 4))],
    ),
    "nothing of what was sent after a poll of unknown outcome, by a new assignment": (
        [
            *BEGUN,
            NOTHING(type="info", **at(2)),
            ASSIGN(**at(3)),
            S(2, 1, **at(5)),
            NOTHING(**at(3600)),
        ],
        [("stale-read", (3, 4, 5))],
    ),
    "a group receives nothing of what was sent after a member's poll of unknown outcome": (
        [
            ASSIGN(**MEMBER, **at(0)),
            S(1, 0, **at(1)),
            NOTHING(type="info", **MEMBER, **at(2)),
            S(2, 1, **at(5)),
            NOTHING(**(MEMBER | {"process": 2, "member_id": "n"}), **at(3600)),
        ],
        [("stale-read", (2, 3, 4))],
    ),
    "a reader receives one record and then nothing": (
        [*BEGUN, P(1, 0, **at(2)), S(2, 1, **at(10)), NOTHING(**at(71))],
        [("stale-read", (2, 3, 4))],
    ),
    "another reader receives the record, this one does not": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), P(1, 0, process=2, **at(2)), NOTHING(**at(63))],
        [("stale-read", (0, 2, 3))],
    ),
    "a committed record is not returned": (
        [ASSIGN(**at(0)), S(1, 0, **TXN, **at(1)), END("commit", 1, **at(2)), NOTHING(**at(63))],
        [("stale-read", (0, 1, 3))],
    ),
    "a record is not returned a minute after the heal": (
        [*BEGUN, FAULT("Kill", **at(2)), FAULT("Heal", **at(3)), NOTHING(**at(64))],
        [("stale-read", (0, 1, 4))],
    ),
    "a group's member does not receive the record": (
        [ASSIGN(**MEMBER, **at(0)), S(1, 0, **at(1)), NOTHING(**MEMBER, **at(62))],
        [("stale-read", (0, 1, 2))],
    ),
}
