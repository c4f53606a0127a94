"""Histories written by hand for `committed_offsets`."""

from typing import Any

from linearizability.hand_written.rows import (
    ABORT,
    ASKS,
    BEGINS,
    COMMIT,
    COMMITS,
    MEMBER,
    MUCH_LATER,
    PLACE,
    SENDS_OFFSET,
    TXN,
    Invalid,
    Row,
    Valid,
    at,
)

UNSTABLE = ASKS(None, type="fail", error="UNSTABLE_OFFSET_COMMIT")


def OWNS_BY(protocol: str, **more: Any) -> Row:
    """Return the row in which member m, or another, reports that it owns the partition, with this
    group protocol."""
    settings = f'{{"group.protocol": "{protocol}"}}'
    return PLACE | MEMBER | {"f": "owned", "generation": 1, "settings": settings} | more


def STARTS(offset: int | None, **more: Any) -> Row:
    """Return the start of member m at the offset that its coordinator answered; None: it answered
    that the group has none."""
    return BEGINS(offset, asked="committed", asked_offset=offset, **MEMBER, **more)


def NOBODY_COMMITS(offset: int, **more: Any) -> Row:
    """Return a commit that names no member."""
    return COMMITS(offset, generation=-1, **more)


SUCCESSOR = {"generation": 2, "member_id": "n"}
OWN = {"generation": 1, "member_id": "m"}


VALID: Valid = {
    "a member begins where its group had committed": (
        [COMMITS(1, detail="leader epoch 1, x"), STARTS(1), ASKS(1, detail="leader epoch 1, x")]
    ),
    "a member begins at a commit of unknown outcome": (
        [COMMITS(1), COMMITS(2, type="info"), STARTS(2), ASKS(2)]
    ),
    "a member of a new group begins without a commit": [STARTS(None), COMMITS(1), ASKS(1)],
    "a member begins, and the history does not tell every commit": [COMMITS(1), STARTS(7)],
    "what a member was answered is not known": [COMMITS(1), STARTS(None, type="info"), ASKS(1)],
    "a committed offset is deleted, then a new one is committed": (
        [COMMITS(1), COMMITS(None), ASKS(None), COMMITS(2), ASKS(2)]
    ),
    "UNSTABLE_OFFSET_COMMIT just after the transaction's end": (
        [COMMITS(1), ASKS(1), SENDS_OFFSET(2), {"f": "commit", **TXN}, UNSTABLE]
    ),
    "UNSTABLE_OFFSET_COMMIT while no end of the transaction is known": (
        [COMMITS(1), ASKS(1), SENDS_OFFSET(2), UNSTABLE | MUCH_LATER]
    ),
    "an offset is still there after a deletion of unknown outcome": (
        [COMMITS(1), COMMITS(None, type="info"), ASKS(1)]
    ),
    "OffsetFetch returns the last commit": [ASKS(None), COMMITS(1), ASKS(1), COMMITS(2), ASKS(2)],
    "OffsetFetch answers before a transaction sends offsets, and after its commit": (
        [COMMITS(1), ASKS(1), SENDS_OFFSET(2), {"f": "commit", **TXN}, ASKS(2)]
    ),
    "OffsetFetch overlaps the transaction's commit": (
        [COMMITS(1), SENDS_OFFSET(2), ASKS(1, t_complete_ns=99), {"f": "commit", **TXN}]
    ),
    "a commit of unknown outcome may have ended the transaction": (
        [COMMITS(1), SENDS_OFFSET(2), ASKS(1), {"f": "commit", "type": "info", **TXN}]
    ),
    "either of two overlapping commits may be the last": (
        [COMMITS(1, t_complete_ns=50), COMMITS(2), ASKS(1, t_invoke_ns=60, t_complete_ns=65)]
    ),
    "a commit of unknown outcome takes effect late": (
        [COMMITS(1, type="info"), COMMITS(2), ASKS(2), ASKS(1)]
    ),
    "a commit of unknown outcome takes effect half a minute after its end": [
        COMMITS(1, type="info", **at(0)),
        COMMITS(2, **at(30)),
        ASKS(1, **at(90)),
    ],
    "a commit of unknown outcome takes effect half a minute after a transaction's offsets": [
        COMMITS(1, type="info", **at(0)),
        SENDS_OFFSET(2, **at(30)),
        COMMIT | at(31),
        ASKS(1, **at(90)),
    ],
    "only a commit of unknown outcome explains an offset that nothing replaced": [
        COMMITS(1, type="info", **at(0)),
        ASKS(1, **at(3600)),
    ],
    "a transaction sends offsets while another commit is under way": [
        COMMITS(2, t_complete_ns=99),
        SENDS_OFFSET(1),
        {"f": "commit", **TXN},
        ASKS(1, t_invoke_ns=100, t_complete_ns=105),
    ],
    "OffsetFetch overlaps the commit": [COMMITS(1), ASKS(2, t_complete_ns=99), COMMITS(2)],
    "another group has committed nothing": [COMMITS(1), ASKS(None, group="h")],
    "metadata and leader epoch come back with the offset": (
        [COMMITS(1, detail="leader epoch 1, x"), ASKS(1, detail="leader epoch 1, x")]
    ),
    "the commit of unknown outcome did not record its metadata": (
        [COMMITS(1, type="info", detail="an error"), ASKS(1, detail="leader epoch 1, x")]
    ),
    "the offsets' transaction has no known end": [COMMITS(1), COMMITS(2, **TXN), ASKS(1), ASKS(2)],
    "a failed commit changed nothing": [COMMITS(1), COMMITS(2, type="fail"), ASKS(1)],
    "during the run, a replaced coordinator returns the previous commit": (
        [COMMITS(1), COMMITS(2), ASKS(1, final=False)]
    ),
    "each commit has a newer generation": [COMMITS(1, generation=1), COMMITS(2, generation=2)],
    "commits that name no member, before the first and after the last member": [
        NOBODY_COMMITS(1),
        COMMITS(2, **OWN),
        COMMITS(3, **OWN),
        NOBODY_COMMITS(4),
    ],
    "a commit that names no member, between two members": (
        [COMMITS(1, **OWN), NOBODY_COMMITS(2), COMMITS(3, **SUCCESSOR)]
    ),
    "a commit that names no member, and overlaps the member's": (
        [COMMITS(1, **OWN, t_complete_ns=25), NOBODY_COMMITS(2), COMMITS(3, **OWN)]
    ),
    "a commit that names no member is refused": (
        [COMMITS(1, **OWN), NOBODY_COMMITS(2, type="fail"), COMMITS(3, **OWN)]
    ),
    "a group is deleted, and a member with the same name comes back": (
        [COMMITS(1, **OWN), COMMITS(None), NOBODY_COMMITS(2), COMMITS(3, **OWN)]
    ),
    "the group was deleted, and its generations begin with 1 again": (
        [COMMITS(2, generation=5), COMMITS(None), COMMITS(1, generation=1), ASKS(1)]
    ),
    "the group may have been deleted, and its generations begin with 1 again": [
        COMMITS(2, generation=5),
        COMMITS(None, type="info", t_complete_ns=None),
        COMMITS(1, generation=1),
        ASKS(1),
    ],
    "the members of a deleted group had committed, and those of its successor own again": [
        OWNS_BY("classic", **SUCCESSOR),
        COMMITS(2, **SUCCESSOR),
        COMMITS(None),
        OWNS_BY("classic"),
        COMMITS(1, **OWN),
    ],
    "commits of two generations overlap": (
        [COMMITS(2, generation=2, t_complete_ns=99), COMMITS(1, generation=1)]
    ),
    "a commit of an older generation was not acknowledged": (
        [COMMITS(2, generation=2), COMMITS(1, generation=1, type="info")]
    ),
    "an older generation's commit of unknown outcome began before the newer one's was accepted": [
        COMMITS(2, generation=2, t_complete_ns=25),
        COMMITS(1, generation=1, type="info"),
        ASKS(1),
    ],
    "a commit of an older generation is invoked before the new owner is told": [
        OWNS_BY("classic"),
        COMMITS(1, **OWN, t_invoke_ns=12, t_complete_ns=99),
        OWNS_BY("classic", **SUCCESSOR),
    ],
    "a member of an older epoch commits for a partition that it never had": [
        OWNS_BY("consumer", partition=1),
        OWNS_BY("consumer", **SUCCESSOR),
        COMMITS(1, **OWN),
    ],
    "a commit of an older generation is for another partition": (
        [COMMITS(2, generation=2), COMMITS(1, generation=1, partition=1)]
    ),
    "a member commits under an older epoch of its own; its protocol is unknown": [
        COMMITS(1, generation=1, member_id="m"),
        COMMITS(2, generation=2, member_id="m"),
        COMMITS(3, generation=1, member_id="m"),
    ],
    "a member of the consumer protocol commits under an older epoch of its own": [
        COMMITS(2, generation=2, member_id="m"),
        COMMITS(3, generation=1, member_id="m"),
        OWNS_BY("consumer"),
    ],
    "a member that changed its protocol commits under an older generation": [
        COMMITS(2, generation=2, member_id="m"),
        COMMITS(3, generation=1, member_id="m"),
        OWNS_BY("classic"),
        OWNS_BY("consumer"),
    ],
    "a commit from outside the group has no generation": (
        [COMMITS(2, generation=2), COMMITS(1), ASKS(1)]
    ),
    "another member replaces the owner in the same generation": [
        COMMITS(1, generation=1, member_id="m"),
        COMMITS(2, generation=1, member_id="n"),
        COMMITS(3, generation=1, member_id="n"),
        ASKS(3),
    ],
    "commits of two members overlap": [
        COMMITS(1, generation=1, member_id="m"),
        COMMITS(2, generation=1, member_id="n", t_complete_ns=99),
        COMMITS(3, generation=1, member_id="m"),
    ],
    "two members commit in turn, each in its own generation": [
        COMMITS(1, generation=1, member_id="m"),
        COMMITS(2, generation=2, member_id="n"),
        COMMITS(3, generation=3, member_id="m"),
    ],
}

INVALID: Invalid = {
    "a member begins at an offset that nobody has committed": (
        [COMMITS(1), STARTS(3), ASKS(1)],
        [("unexplained-offset", (1,))],
    ),
    "a member begins without a position, a minute after its group had committed one": (
        [COMMITS(1), STARTS(None, **MUCH_LATER), ASKS(1, **MUCH_LATER)],
        [("forgotten-offset", (0, 1))],
    ),
    "a commit of unknown outcome takes effect an hour after its end": (
        [COMMITS(1, type="info", **at(0)), COMMITS(2, **at(3600)), ASKS(1, **at(3700))],
        [("commit-took-effect-late", (0, 1, 2))],
    ),
    "a commit of unknown outcome takes effect an hour later, after a transaction's offsets": (
        [
            COMMITS(1, type="info", **at(0)),
            SENDS_OFFSET(2, **at(3600)),
            COMMIT | at(3601),
            ASKS(1, **at(3700)),
        ],
        [("commit-took-effect-late", (0, 1, 3))],
    ),
    "a deletion of unknown outcome takes effect an hour later, after a transaction's offsets": (
        [
            COMMITS(None, type="info", **at(0)),
            SENDS_OFFSET(2, **at(3600)),
            COMMIT | at(3601),
            ASKS(None, **at(3700)),
        ],
        [("commit-took-effect-late", (0, 1, 3))],
    ),
    "a deletion of unknown outcome takes effect an hour after its end": (
        [COMMITS(None, type="info", **at(0)), COMMITS(2, **at(3600)), ASKS(None, **at(3700))],
        [("commit-took-effect-late", (0, 1, 2))],
    ),
    "a transaction's offsets replace those of a commit that came after them": (
        [SENDS_OFFSET(1), COMMITS(2), {"f": "commit", **TXN}, ASKS(1)],
        [("unexplained-offset", (1, 3))],
    ),
    "a deleted offset comes back": (
        [COMMITS(1), COMMITS(None), ASKS(1)],
        [("unexplained-offset", (1, 2))],
    ),
    "a committed offset is gone, though its only deletion came before": (
        [COMMITS(None), COMMITS(1), ASKS(None)],
        [("forgotten-offset", (1, 2))],
    ),
    "nobody committed the offset that OffsetFetch returns": (
        [COMMITS(1), ASKS(7)],
        [("unexplained-offset", (0, 1))],
    ),
    "a classic member commits under an older generation of its own": (
        [
            OWNS_BY("classic"),
            COMMITS(2, generation=2, member_id="m"),
            COMMITS(3, generation=1, member_id="m"),
        ],
        [("old-generation-commits", (1, 2))],
    ),
    "OffsetFetch returns a commit that a later one had replaced": (
        [COMMITS(1), COMMITS(2), ASKS(1)],
        [("unexplained-offset", (1, 2))],
    ),
    "the committed metadata is missing": (
        [COMMITS(1, detail="leader epoch 1, x"), ASKS(1)],
        [("unexplained-offset", (0, 1))],
    ),
    "the committed leader epoch has changed": (
        [COMMITS(1, detail="leader epoch 1, x"), ASKS(1, detail="leader epoch 2, x")],
        [("unexplained-offset", (0, 1))],
    ),
    "OffsetFetch answers while a transaction's offsets are undecided": (
        [COMMITS(1), SENDS_OFFSET(2), ASKS(1), {"f": "commit", **TXN}],
        [("told-while-undecided", (1, 2))],
    ),
    "UNSTABLE_OFFSET_COMMIT a minute after the transaction's end": (
        [COMMITS(1), SENDS_OFFSET(2), {"f": "commit", **TXN}, ASKS(2), UNSTABLE | MUCH_LATER],
        [("undecided-for-ever", (1, 4))],
    ),
    "OffsetFetch returns a commit that was replaced a minute before": (
        [COMMITS(1), COMMITS(2), ASKS(1, final=False, **MUCH_LATER)],
        [("unexplained-offset", (1, 2))],
    ),
    "a commit of unknown outcome takes effect although its generation was over": (
        [COMMITS(2, generation=2), COMMITS(1, generation=1, type="info"), ASKS(1)],
        [("unexplained-offset", (0, 2))],
    ),
    "a classic member commits after its successor was given the partition": (
        [OWNS_BY("classic"), OWNS_BY("classic", **SUCCESSOR), COMMITS(1, **OWN)],
        [("old-generation-commits", (1, 2))],
    ),
    "a member of an older epoch commits after its successor was given the partition": (
        [OWNS_BY("consumer"), OWNS_BY("consumer", **SUCCESSOR), COMMITS(1, **OWN)],
        [("old-generation-commits", (1, 2))],
    ),
    "a commit of an older generation is acknowledged; the deletion came before": (
        [COMMITS(None), COMMITS(2, generation=2), COMMITS(1, generation=1)],
        [("old-generation-commits", (1, 2))],
    ),
    "a commit of an older generation is acknowledged; another position was deleted": (
        [COMMITS(2, generation=2), COMMITS(None, partition=1), COMMITS(1, generation=1)],
        [("old-generation-commits", (0, 2))],
    ),
    "a commit of an older generation is acknowledged": (
        [COMMITS(2, generation=2), COMMITS(1, generation=1)],
        [("old-generation-commits", (0, 1))],
    ),
    "a member commits under an older generation, after commits of newer ones": (
        [
            COMMITS(2, generation=2, member_id="n"),
            COMMITS(3, generation=3, member_id="m"),
            COMMITS(1, generation=1, member_id="m"),
        ],
        [("old-generation-commits", (0, 2))],
    ),
    "the old owner commits after the new one, in the same generation": (
        [
            COMMITS(1, generation=1, member_id="m"),
            COMMITS(2, generation=1, member_id="n"),
            COMMITS(3, generation=1, member_id="m"),
        ],
        [("two-owners", (1, 2))],
    ),
    "a commit that names no member is accepted between two commits of a member": (
        [COMMITS(1, **OWN), NOBODY_COMMITS(2), COMMITS(3, **OWN)],
        [("commit-without-member", (0, 1, 2))],
    ),
    "OffsetFetch returns no offset although one is committed": (
        [COMMITS(1), ASKS(None)],
        [("forgotten-offset", (0, 1))],
    ),
    "OffsetFetch returns an offset whose commit was refused": (
        [COMMITS(1, type="fail"), ASKS(1)],
        [("unexplained-offset", (1,))],
    ),
    "OffsetFetch returns the offset of an aborted transaction": (
        [COMMITS(1, **TXN), ABORT, ASKS(1)],
        [("unexplained-offset", (2,))],
    ),
}
