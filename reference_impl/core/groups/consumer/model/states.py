"""The states of a consumer group and of its members (KIP-848), and every way between them.

Source: KIP-848, Group State and Member State; ConsumerGroup.java (maybeUpdateGroupState),
MemberState.java, CurrentAssignmentBuilder.java.

In the classic protocol all members of a group stop reading, and one of them computes the
assignment. Here the broker computes it (the *target*), and each member moves to its part of the
target by itself. Three numbers describe the progress. The *group epoch* counts changes of members,
subscriptions and topics. The *assignment epoch* is the group epoch for which the target was
computed. The *member epoch* is the assignment epoch that a member has reached. So the group is

- EMPTY without members;
- ASSIGNING while its epoch is ahead of the target's: a new target is due;
- RECONCILING while a member is behind the target;
- STABLE once everybody has arrived.

A member first releases partitions and then gets others: in UNREVOKED_PARTITIONS it must still stop
reading the partitions that it loses, and keeps its epoch. Then it gets the new epoch with those
partitions of its part that are free; as long as other members still hold some of them, it is in
UNRELEASED_PARTITIONS.

Everything about transitions is in this file; their causes are in the others. A member changes its
state only as its table allows. The state of a group is computed from its epochs and members
(ConsumerGroup.state); the table lists the possible changes, and tests check groups against it under
random events.
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto


class GroupState(Enum):
    """The states of a group. The values are the names in ConsumerGroupDescribe and ListGroups."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupMove(Enum):
    """The moves that a consumer group can make."""

    EPOCH_BUMPED = auto()
    """A member, a subscription or a topic changed: the target is out of date."""
    TARGET_SET = auto()
    """There is a new target, and a member has not reached it yet."""
    ALL_ARRIVED = auto()
    """Every member has reached the target."""
    MEMBER_BEHIND = auto()
    """A member starts again, without a change of the target (static members, rejoining)."""
    LAST_LEAVES = auto()
    GROUP_DELETED = auto()


CONSUMER_GROUP: dict[GroupState, dict[GroupMove, GroupState]] = {
    GroupState.EMPTY: {
        GroupMove.EPOCH_BUMPED: GroupState.ASSIGNING,
        GroupMove.TARGET_SET: GroupState.RECONCILING,
        GroupMove.ALL_ARRIVED: GroupState.STABLE,
        GroupMove.GROUP_DELETED: GroupState.DEAD,
    },
    GroupState.ASSIGNING: {
        GroupMove.TARGET_SET: GroupState.RECONCILING,
        GroupMove.ALL_ARRIVED: GroupState.STABLE,
        GroupMove.LAST_LEAVES: GroupState.EMPTY,
    },
    GroupState.RECONCILING: {
        GroupMove.ALL_ARRIVED: GroupState.STABLE,
        GroupMove.EPOCH_BUMPED: GroupState.ASSIGNING,
        GroupMove.LAST_LEAVES: GroupState.EMPTY,
    },
    GroupState.STABLE: {
        GroupMove.EPOCH_BUMPED: GroupState.ASSIGNING,
        GroupMove.TARGET_SET: GroupState.RECONCILING,
        GroupMove.MEMBER_BEHIND: GroupState.RECONCILING,
        GroupMove.LAST_LEAVES: GroupState.EMPTY,
    },
    GroupState.DEAD: {},
}


class MemberState(IntEnum):
    """The states of a member. The values are the codes of
    ConsumerGroupCurrentMemberAssignmentValue.State."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class MemberMove(Enum):
    """The possible next steps of a member towards its target."""

    MUST_REVOKE = auto()
    """The member reads partitions that are no longer its own, and must report that it has
    stopped."""
    MUST_WAIT = auto()
    """The member has all of its partitions that are free; other members still hold the rest."""
    ARRIVES = auto()
    """The member has its whole part."""


CONSUMER_MEMBER: dict[MemberState, dict[MemberMove, MemberState]] = {
    state: {
        MemberMove.MUST_REVOKE: MemberState.UNREVOKED_PARTITIONS,
        MemberMove.MUST_WAIT: MemberState.UNRELEASED_PARTITIONS,
        MemberMove.ARRIVES: MemberState.STABLE,
    }
    for state in MemberState
}
"""Every step can be taken from every state, since the target may change at any moment."""


def next_member_state(state: MemberState, move: MemberMove) -> MemberState:
    """Return the state to which a member's step leads."""
    return CONSUMER_MEMBER[state][move]
