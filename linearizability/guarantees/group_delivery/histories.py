"""Histories written by hand for `group_delivery`."""

from linearizability.hand_written.rows import (
    ABORT,
    BEGINS,
    COMMIT,
    COMMITS,
    JOINS,
    LOST,
    MEMBER,
    MUCH_LATER,
    OWNS,
    PLACE,
    SEEK,
    SENDS_OFFSET,
    TXN,
    Invalid,
    P,
    Row,
    S,
    Valid,
)

GO_ON = [S(1, 0), S(2, 1), P(1, 0, **MEMBER), S(3, 2)]
"""The group receives the first of three records."""

COMMITTED = COMMITS(3, **MEMBER, process=1, session=1, generation=1)


def _beside(lost: Row, *rows: Row) -> list[Row]:
    """Return a history in which member m skips the second of three records between two sessions,
    and process 3 has a poll of unknown outcome meanwhile, changed by `lost`. rows: what precedes
    it."""
    poll = [JOINS, LOST | lost, LOST | {"type": "ok"}]
    read = [P(1, 0, **MEMBER), *poll, P(3, 2, **MEMBER, session=1)]
    return [S(1, 0), S(2, 1), S(3, 2), *rows, *read]


VALID: Valid = {
    "a poll of unknown outcome, and another member owned the partition in generation 1 or 3": [
        *_beside({}, OWNS | {"generation": 1}, OWNS | {"generation": 3}),
        COMMITTED | {"generation": 1, "t_invoke_ns": 55, "t_complete_ns": 500},
        COMMITTED | {"generation": 2},
    ],
    "a poll of unknown outcome, and the other owner committed nothing afterwards": (
        _beside({}, OWNS | {"generation": 1}, COMMITS(0, **MEMBER, process=1, generation=1))
    ),
    "a poll of unknown outcome that began before the other member reported the partition": [
        *_beside({"t_invoke_ns": 25}, OWNS | {"generation": 1}),
        COMMITTED,
    ],
    "a poll of unknown outcome by a process that assigns partitions to itself": [
        *_beside({}, OWNS | {"generation": 1}, PLACE | {"f": "assign", "process": 3}),
        COMMITTED,
    ],
    "a poll of unknown outcome while a member of KIP-848 owned the partition": [
        *_beside({}, OWNS),
        COMMITTED,
    ],
    "a member sought over the record": [*GO_ON, SEEK(2), P(3, 2, **MEMBER, session=1)],
    "an operator set the group ahead over the record": (
        [*GO_ON, COMMITS(2), P(3, 2, **MEMBER, session=1)]
    ),
    "a member of a group without a position began at the log's end, over the record": (
        [*GO_ON, BEGINS(2, asked="latest", **MEMBER, session=1), P(3, 2, **MEMBER, session=1)]
    ),
    "an operator set the group back, and then ahead again over what it had never received": [
        *(S(n, n) for n in range(6)),
        P(4, 4, **MEMBER),
        COMMITS(0),
        P(0, 0, **MEMBER, session=1),
        COMMITS(5),
        P(5, 5, **MEMBER, session=2),
    ],
    "a member committed the offset after the last record that it received": (
        [*GO_ON, COMMITS(1, **MEMBER), P(2, 1)]
    ),
    "a member committed over a control record and an aborted one": (
        [S(1, 0), S(2, 1, **TXN), ABORT, P(1, 0, **MEMBER), COMMITS(3, **MEMBER)]
    ),
    "a transaction with a higher position was aborted": [
        *GO_ON,
        SENDS_OFFSET(3, member_id="m"),
        ABORT,
    ],
    "nobody knows whether a member committed a higher position": (
        [*GO_ON, COMMITS(3, **MEMBER, type="info")]
    ),
    "a member began at a position that it sought, and committed nothing above": (
        [*GO_ON, SEEK(3), COMMITS(3, **MEMBER)]
    ),
    "two members receive the records between them": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(2, 1, **MEMBER, process=2),
        P(3, 2, **MEMBER),
    ],
    "a failed poll received the record": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(2, 1, **MEMBER, type="fail"),
        P(3, 2, **MEMBER),
    ],
    "a poll of unknown outcome may have received the record": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info"),
        P(3, 2, **MEMBER),
    ],
    "a poll of unknown outcome and partition may have received the record": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info", topic=None, partition=None),
        P(3, 2, **MEMBER),
    ],
    "a member that lost its answer may have received the record": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
        P(None, None, **MEMBER, topic=None, partition=None, process=3),
        P(1, 0, **MEMBER),
        P(3, 2, **MEMBER, process=2, session=7),
    ],
    "a poll of unknown outcome began before the next record was received": [
        S(1, 0),
        S(2, 1),
        S(3, 2),
        P(1, 0, **MEMBER),
        P(3, 2, **MEMBER, t_complete_ns=70),
        P(None, None, **MEMBER, type="info", topic=None, partition=None),
    ],
    "a poll of unknown outcome may have received two records before another member went back": [
        *(S(n, n - 1) for n in range(1, 5)),
        P(1, 0, **MEMBER),
        P(None, None, **MEMBER, type="info"),
        P(4, 3, **MEMBER),
        P(1, 0, **MEMBER, process=2, session=7),
    ],
    "the group passed over an aborted record": (
        [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **MEMBER), P(3, 3, **MEMBER)]
    ),
    "the group began after the record": [S(1, 0), S(2, 1), P(2, 1, **MEMBER), P(1, 0)],
    "consumers without membership passed over the record": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0, group="g"), P(3, 2, group="g"), P(3, 2, **MEMBER)]
    ),
}

INVALID: Invalid = {
    "a poll of unknown outcome of one member, while another one owned the partition": (
        [*_beside({}, OWNS | {"generation": 1}), COMMITTED],
        [("group-skip", (1, 4, 9))],
    ),
    "a poll of unknown outcome, while another member owned the partition in two generations": (
        [
            *_beside({}, OWNS | {"generation": 1}, OWNS | {"generation": 2}),
            COMMITTED | {"generation": 2},
        ],
        [("group-skip", (1, 5, 10))],
    ),
    "a member's last commit passes records that the group never received": (
        [*GO_ON, COMMITS(3, **MEMBER)],
        [("group-skip", (1, 2, 4)), ("group-skip", (2, 3, 4))],
    ),
    "a transaction commits a position that passes records that the group never received": (
        [*GO_ON, SENDS_OFFSET(2, member_id="m"), COMMIT],
        [("group-skip", (1, 2, 4))],
    ),
    "a member begins at a committed offset above a record that the group never received": (
        [*GO_ON, BEGINS(2, asked="committed", asked_offset=2, **MEMBER, session=1)],
        [("group-skip", (1, 2, 4))],
    ),
    "a member begins at the log's start, and receives only the second record": (
        [S(1, 0), S(2, 1), BEGINS(0, asked="earliest", **MEMBER), P(2, 1, **MEMBER)],
        [("group-skip", (0, 2, 3))],
    ),
    "a member committed an offset above the record without receiving it": (
        [*GO_ON, COMMITS(2, **MEMBER), P(3, 2, **MEMBER, session=1)],
        [("group-skip", (1, 2, 5))],
    ),
    "a member sought ahead only after the record had been skipped": (
        [*GO_ON, P(3, 2, **MEMBER), SEEK(4)],
        [("group-skip", (1, 2, 4))],
    ),
    "a member sought to the record, and then skipped it": (
        [*GO_ON, SEEK(1), P(3, 2, **MEMBER, session=1)],
        [("group-skip", (1, 2, 5))],
    ),
    "the group skips a record that only the final read returns": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0, **MEMBER), P(3, 2, **MEMBER), P(2, 1)],
        [("group-skip", (1, 3, 4))],
    ),
    "two members receive the records around the skipped one": (
        [S(1, 0), S(2, 1), S(3, 2), P(3, 2, **MEMBER, process=2), P(1, 0, **MEMBER)],
        [("group-skip", (1, 3, 4))],
    ),
    "a poll of unknown outcome came only after the skip": (
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
    "polls of unknown outcome were another group's, or came after the skip": (
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
    "the process of an earlier poll of unknown outcome received other records since": (
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
    "a poll of unknown outcome came a minute before the skip": (
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
    "a member that went back shows that no poll of unknown outcome can have received the record": (
        [
            *(S(n, n - 1) for n in range(1, 5)),
            P(1, 0, **MEMBER),
            P(None, None, **MEMBER, type="info"),
            P(2, 1, **MEMBER),
            P(4, 3, **MEMBER),
            P(1, 0, **MEMBER, process=2, session=7),
        ],
        [("group-skip", (2, 7, 8))],
    ),
    "one session skips the record during another member's poll of unknown outcome": (
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
