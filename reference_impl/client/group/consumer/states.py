"""The states of a member by KIP-848, and every way from one to another.

Source: KIP-848, "Consumer Group Protocol"; MemberState.java of the clients.

A member that is JOINING has sent a heartbeat with epoch 0. The answer holds its epoch and, if there
is any, its part. RECONCILING, it moves there: it gives up what is not in the part, takes what is
new, and says so (ACKNOWLEDGING); only then what it gave up is given to others. STABLE, its
heartbeats say that it lives. A member whose epoch is not the coordinator's has lost everything and
starts again (FENCED); so has one that left because its application was silent (STALE). One that is
FATAL can only leave.

Everything about transitions is in this file; their causes are in `membership.py`.
"""

from __future__ import annotations

from enum import StrEnum, auto


class State(StrEnum):
    """Named as in Java."""

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
    """The coordinator has another part for it than the one it has."""
    CHANGED = auto()
    """It has let go of what it must, and has taken what it may."""
    ARRIVES = auto()
    """It has its part, and the coordinator knows."""
    FENCED = auto()
    """The coordinator has gone on without it."""
    FALLS_SILENT = auto()
    """Its application polls no more."""
    LEAVES = auto()
    IS_GONE = auto()
    FAILS = auto()
    """It was refused for a reason that stays."""


_OUT = {
    Move.FENCED: State.FENCED,
    Move.FALLS_SILENT: State.STALE,
    Move.LEAVES: State.LEAVING,
    Move.FAILS: State.FATAL,
}
"""The moves of every member that the coordinator knows."""
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
"""The coordinator has heard of the member, and waits for its heartbeats."""


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of this client."""
    following = CONSUMER_MEMBER[state].get(move)
    if following is None:
        raise ValueError(f"a member that is {state} cannot make the move {move}")
    return following
