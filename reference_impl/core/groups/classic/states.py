"""The states of a classic consumer group, and every way from one to another.

Source: ClassicGroupState.java (the states and their valid predecessors), ClassicGroup.java; KIP-62,
KIP-134, KIP-345, KIP-394.

A group is EMPTY until a member joins. Then it is PREPARING_REBALANCE: it collects the JoinGroup
requests of all members, and holds back the answers. When all are in (or the rebalance timeout is
over) all of them are answered at once with a new generation, and the group is COMPLETING_REBALANCE:
one member, the leader, computes the assignment and sends it with SyncGroup, while the SyncGroup
requests of the others wait. With the leader's assignment the group is STABLE. Every change of the
membership leads back to PREPARING_REBALANCE. A DEAD group does not answer any more.

Everything about transitions is in this file; their causes are in the others.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """The states of a classic group, with their names in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Move(Enum):
    """The moves that a group can make."""

    MEMBER_JOINS = auto()
    """The first member of an empty group."""
    MEMBERSHIP_CHANGES = auto()
    """A member joins, leaves, expires, or comes with other subscriptions."""
    ALL_JOINED = auto()
    """All members of the next generation have asked for it."""
    NOBODY_JOINED = auto()
    """The last member is gone."""
    LEADER_SYNCS = auto()
    """The assignment of the generation is known."""
    GROUP_DELETED = auto()


CLASSIC_GROUP: dict[State, dict[Move, State]] = {
    State.EMPTY: {Move.MEMBER_JOINS: State.PREPARING_REBALANCE, Move.GROUP_DELETED: State.DEAD},
    State.PREPARING_REBALANCE: {
        Move.ALL_JOINED: State.COMPLETING_REBALANCE,
        Move.NOBODY_JOINED: State.EMPTY,
    },
    State.COMPLETING_REBALANCE: {
        Move.LEADER_SYNCS: State.STABLE,
        Move.MEMBERSHIP_CHANGES: State.PREPARING_REBALANCE,
    },
    State.STABLE: {Move.MEMBERSHIP_CHANGES: State.PREPARING_REBALANCE},
    State.DEAD: {},
}


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of the broker itself."""
    following = CLASSIC_GROUP[state].get(move)
    if following is None:
        raise ValueError(f"a group that is {state.value} cannot make the move {move.name}")
    return following
