"""The states of a member by KIP-848, and every way from one to another.

Source: KIP-848, "Consumer Group Protocol"; MemberState.java of the clients.

A member that is JOINING has sent a heartbeat with epoch 0. The answer contains its epoch and, if
there is any, its assignment. While RECONCILING, it gives up the partitions that are not in the
assignment, takes the new ones, and reports that (ACKNOWLEDGING); only then are the released
partitions given to others. While STABLE, its heartbeats show that it lives. A member whose epoch
differs from the coordinator's has lost all partitions and starts again (FENCED); so has one that
left because its application was silent (STALE). A member that is FATAL can only leave.

Everything about transitions is in this file; their causes are in `membership.py`.
"""

from __future__ import annotations

from enum import StrEnum, auto


class State(StrEnum):
    """The states of a member, named as in Java."""

    UNSUBSCRIBED = auto()
    JOINING = auto()
    RECONCILING = auto()
    ACKNOWLEDGING = auto()
    STABLE = auto()
    FENCED = auto()
    STALE = auto()
    LEAVING = auto()
    FATAL = auto()


class Move(StrEnum):
    """The moves that a member can make."""

    JOINS = auto()
    MUST_CHANGE = auto()
    """The coordinator's assignment differs from the partitions that the member has."""
    CHANGED = auto()
    """The member has released the partitions that it must give up, and taken those that it may
    have."""
    ARRIVES = auto()
    """The member has its whole assignment, and the coordinator knows that."""
    FENCED = auto()
    """The coordinator has removed the member, or does not accept its epoch."""
    FALLS_SILENT = auto()
    """The application has stopped polling."""
    LEAVES = auto()
    IS_GONE = auto()
    FAILS = auto()
    """The member was refused for a reason that will not go away."""


_OUT = {
    Move.FENCED: State.FENCED,
    Move.FALLS_SILENT: State.STALE,
    Move.LEAVES: State.LEAVING,
    Move.FAILS: State.FATAL,
}
"""The moves that are possible from every state in which the coordinator knows the member."""
_AGAIN = {Move.JOINS: State.JOINING, Move.LEAVES: State.LEAVING}

CONSUMER_MEMBER: dict[State, dict[Move, State]] = {
    State.UNSUBSCRIBED: _AGAIN,
    State.JOINING: {Move.MUST_CHANGE: State.RECONCILING, Move.ARRIVES: State.STABLE, **_OUT},
    State.RECONCILING: {Move.CHANGED: State.ACKNOWLEDGING, Move.ARRIVES: State.STABLE, **_OUT},
    State.ACKNOWLEDGING: {Move.MUST_CHANGE: State.RECONCILING, Move.ARRIVES: State.STABLE, **_OUT},
    State.STABLE: {Move.MUST_CHANGE: State.RECONCILING, **_OUT},
    State.FENCED: _AGAIN,
    State.STALE: _AGAIN,
    State.LEAVING: {Move.LEAVES: State.LEAVING, Move.IS_GONE: State.UNSUBSCRIBED},
    State.FATAL: {Move.LEAVES: State.LEAVING},
}
KNOWN = frozenset({State.JOINING, State.RECONCILING, State.ACKNOWLEDGING, State.STABLE})
"""The states in which the coordinator knows the member and waits for its heartbeats."""


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of this client."""
    following = CONSUMER_MEMBER[state].get(move)
    if following is None:
        raise ValueError(f"a member that is {state} cannot make the move {move}")
    return following
