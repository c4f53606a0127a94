"""Histories written by hand for how often, and how soon, readers are given what is sent."""

from __future__ import annotations

from linearizability.hand_written.rows import END, PLACE, SAYS, WHOLE, P, Row, S

TXN = {"txn": 1}
MEMBER = {"group": "g", "member_id": "m"}
READING = {"op_id": 1000, "process": 9}
"""Rows of one operation that read the partition whole."""


def at(second: int) -> Row:
    """Return the times of an operation invoked and answered in this second."""
    return {"t_invoke_ns": second * 1_000_000_000, "t_complete_ns": second * 1_000_000_000 + 1}


def ASSIGN(**more: object) -> Row:
    """Return the assignment of the partition to process 1."""
    return PLACE | {"f": "assign", "process": 1} | more


def NOTHING(**more: object) -> Row:
    """Return a poll of process 1 that receives nothing."""
    return {"f": "poll", "process": 1, "isolation": "read_committed"} | more


def FAULT(name: str, **more: object) -> Row:
    return {"f": "nemesis", "process": -1, "detail": f'{{"fault": "{name}"}}'} | more


BEGUN = [ASSIGN(**at(0)), S(1, 0, **at(1))]
"""A reader, and a record for it."""

VALID: dict[str, dict[str, list[Row]]] = {
    "stale_reads": {
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
        "a poll never told what it gave": [
            *BEGUN,
            NOTHING(type="info", **at(2)),
            NOTHING(**at(3600)),
        ],
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
    },
    "delivery_semantics": {
        "once": [S(1, 0), P(1, 0, **READING), WHOLE(1, **READING, record_index=1)],
        "at most once, lost": [S(1, None, acks=0, idempotent=False, type="ok"), WHOLE(0)],
        "at least once, twice": [
            S(1, 0, idempotent=False),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        "acks 1, lost": [S(1, 0, acks=1, idempotent=False), WHOLE(1)],
        "acks 1, lost with its leader": [
            S(1, 0, acks=1, idempotent=False),
            WHOLE(1, final=True, leader_epoch=1),
        ],
        "acks 1, after another leader": [
            S(1, 0, acks=1, idempotent=False),
            SAYS(0, leader_epoch=1),
            WHOLE(1, final=True, leader_epoch=0),
        ],
        "of unknown outcome": [S(1), WHOLE(3)],
        "aborted": [S(1, 0, **TXN), END("abort", 1), WHOLE(2)],
        "sent again by the workload": [
            S(1, 0),
            S(1, 1),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        "acknowledged after the reading began": [WHOLE(1, t_complete_ns=99), S(1, 0)],
        "deleted": [S(1, 0), WHOLE(1, log_start=1)],
        "compacted": [S(1, 0, key="k"), S(2, 1, key="k"), WHOLE(1)],
        "a replica's own log": [S(1, 0), WHOLE(1, replica=2)],
        "by two readings": [
            S(1, 0),
            P(1, 0, **READING),
            WHOLE(1, **READING, record_index=1),
            P(1, 0, op_id=2000, process=9),
            WHOLE(1, op_id=2000, record_index=1),
        ],
    },
}

INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "stale_reads": {
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
            [
                ASSIGN(**at(0)),
                S(1, 0, **TXN, **at(1)),
                P(1, 0, process=2, **at(2)),
                NOTHING(**at(63)),
            ],
            [("stale-read", (0, 2, 3))],
        ),
        "committed": (
            [
                ASSIGN(**at(0)),
                S(1, 0, **TXN, **at(1)),
                END("commit", 1, **at(2)),
                NOTHING(**at(63)),
            ],
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
    },
    "delivery_semantics": {
        "exactly once, lost": ([S(1, 0), WHOLE(1)], [("not-delivered", (0, 1))]),
        "at least once, lost": ([S(1, 0, idempotent=False), WHOLE(1)], [("not-delivered", (0, 1))]),
        "acks 1, lost by the only leader": (
            [S(1, 0, acks=1, idempotent=False), WHOLE(1, final=True, leader_epoch=0)],
            [("not-delivered", (0, 1))],
        ),
        "another reading has it": ([S(1, 0), P(1, 0), WHOLE(1)], [("not-delivered", (0, 2))]),
        "exactly once, twice": (
            [
                S(1, 0),
                P(1, 0, **READING),
                P(1, 1, **READING, record_index=1),
                WHOLE(2, **READING, record_index=2),
            ],
            [("delivered-twice", (0, 1000))],
        ),
        "at most once, twice": (
            [
                S(1, None, acks=0, idempotent=False, type="ok"),
                P(1, 0, **READING),
                P(1, 1, **READING, record_index=1),
                WHOLE(2, **READING, record_index=2),
            ],
            [("delivered-twice", (0, 1000))],
        ),
        "of unknown outcome, twice": (
            [
                S(1),
                P(1, 0, **READING),
                P(1, 1, **READING, record_index=1),
                WHOLE(2, **READING, record_index=2),
            ],
            [("delivered-twice", (0, 1000))],
        ),
        "committed, lost": (
            [S(1, 0, **TXN), END("commit", 1), WHOLE(2)],
            [("not-delivered", (0, 2))],
        ),
    },
}
