"""The states of a member of a classic group, and every way from one to another.

Source: AbstractCoordinator.java (MemberState); KIP-429, KIP-62.

A member that is UNJOINED asks to join; while the coordinator waits for the others it is
PREPARING_REBALANCE. With the answer it knows the generation and, if it leads, all members; it sends
SyncGroup and is COMPLETING_REBALANCE until its assignment comes. STABLE, it sends heartbeats. Their
answers, and changes of topics, make it join again; meanwhile it keeps no partitions (eager), or
those that no other member will get (cooperative).

Everything about transitions is in this file; their causes are in `membership.py`.
"""

from __future__ import annotations

from enum import StrEnum, auto


class State(StrEnum):
    """The states of a member, named as in Java."""

    UNJOINED = auto()
    PREPARING_REBALANCE = auto()
    COMPLETING_REBALANCE = auto()
    STABLE = auto()


class Move(StrEnum):
    """The moves that a member can make."""

    JOINS = auto()
    JOINED = auto()
    SYNCED = auto()
    MUST_JOIN_AGAIN = auto()
    """The member was refused, could not reach the coordinator, or is no longer a member."""


_BACK = {Move.MUST_JOIN_AGAIN: State.UNJOINED}

MEMBER: dict[State, dict[Move, State]] = {
    State.UNJOINED: {Move.JOINS: State.PREPARING_REBALANCE, **_BACK},
    State.PREPARING_REBALANCE: {Move.JOINED: State.COMPLETING_REBALANCE, **_BACK},
    State.COMPLETING_REBALANCE: {Move.SYNCED: State.STABLE, **_BACK},
    State.STABLE: {Move.JOINS: State.PREPARING_REBALANCE, **_BACK},
}


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of this client."""
    following = MEMBER[state].get(move)
    if following is None:
        raise ValueError(f"a member that is {state} cannot make the move {move}")
    return following
