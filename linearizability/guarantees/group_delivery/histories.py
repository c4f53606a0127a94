"""Histories written by hand for `group_delivery`."""

from linearizability.hand_written.rows import (
    ABORT,
    MEMBER,
    MUCH_LATER,
    SEEK,
    TXN,
    Invalid,
    P,
    S,
    Valid,
)

GO_ON = [S(1, 0), S(2, 1), P(1, 0, **MEMBER), S(3, 2)]
"""The group receives the first of three records."""

VALID: Valid = {
    "a member seeks over it": [*GO_ON, SEEK(2), P(3, 2, **MEMBER, session=1)],
    "shared by two members": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(2, 1, **MEMBER, process=2),
        P(3, 2, **MEMBER),
    ],
    "given to a failed poll": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(2, 1, **MEMBER, type="fail"),
        P(3, 2, **MEMBER),
    ],
    "maybe given to an unknown poll": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info"),
        P(3, 2, **MEMBER),
    ],
    "maybe given to a poll of an unknown partition": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info", topic=None, partition=None),
        P(3, 2, **MEMBER),
    ],
    "maybe given to a member that went on in a session of before": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
        P(None, None, **MEMBER, topic=None, partition=None, process=3),
        P(1, 0, **MEMBER),
        P(3, 2, **MEMBER, process=2, session=7),
    ],
    "not over when a poll of an unknown partition began": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(3, 2, **MEMBER, t_complete_ns=70),
        P(None, None, **MEMBER, type="info", topic=None, partition=None),
    ],
    "aborted": [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **MEMBER), P(3, 3, **MEMBER)],
    "before the first": [S(1, 0), S(2, 1), P(2, 1, **MEMBER), P(1, 0)],
    "not by a member": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, group="g"),
        P(3, 2, group="g"),
        P(3, 2, **MEMBER),
    ],
}

INVALID: Invalid = {
    "sought over when it had been passed over": (
        [*GO_ON, P(3, 2, **MEMBER), SEEK(4)],
        [("group-skip", (1, 2, 4))],
    ),
    "sought to": ([*GO_ON, SEEK(1), P(3, 2, **MEMBER, session=1)], [("group-skip", (1, 2, 5))]),
    "hidden by a final read": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0, **MEMBER), P(3, 2, **MEMBER), P(2, 1)],
        [("group-skip", (1, 3, 4))],
    ),
    "two members": (
        [S(1, 0), S(2, 1), S(3, 2), P(3, 2, **MEMBER, process=2), P(1, 0, **MEMBER)],
        [("group-skip", (1, 3, 4))],
    ),
    "before an unknown poll, and before one that is the group's no more": (
        [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(3, 2, **MEMBER),
            P(None, None, **MEMBER, type="info"),
            P(2, 1, group="g"),
        ],
        [("group-skip", (1, 3, 4))],
    ),
    "skipped before the group's poll of an unknown partition, and after another group's": (
        [
            P(None, None, group="h", member_id="m", type="info", topic=None, partition=None),
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(3, 2, **MEMBER),
            P(None, None, **MEMBER, type="info", topic=None, partition=None),
            P(2, 1),
        ],
        [("group-skip", (2, 4, 5))],
    ),
    "after a poll of an unknown partition, whose process was seen again": (
        [
            P(None, None, **MEMBER, type="info", topic=None, partition=None),
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(3, 2, **MEMBER, process=2),
            P(2, 1),
        ],
        [("group-skip", (2, 4, 5))],
    ),
    "long after a poll of an unknown partition, of a process that was never seen again": (
        [
            P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER, **MUCH_LATER),
            P(3, 2, **MEMBER, **MUCH_LATER, process=2),
            P(2, 1),
        ],
        [("group-skip", (2, 4, 5))],
    ),
    "in one session, while the poll of another member was unknown": (
        [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
            P(3, 2, **MEMBER),
            P(2, 1),
        ],
        [("group-skip", (1, 3, 5))],
    ),
}
