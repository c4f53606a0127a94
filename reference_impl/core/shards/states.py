"""The states of a shard, and every way from one to another.

Source: CoordinatorRuntime.java (CoordinatorState, its valid transitions).

Everything about transitions is in this file; their causes are in the others.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """The stage of a shard's life, from loading to closed."""

    INITIAL = auto()
    LOADING = auto()
    """The log is being read, or not all of it is known to be replicated yet."""
    ACTIVE = auto()
    FAILED = auto()
    """The log cannot be read or understood. Another leader, or a repaired file, may help."""
    CLOSED = auto()
    """This broker no longer leads the partition, or leads it in another epoch."""


class Move(Enum):
    """The moves that a shard can make."""

    ELECTED = auto()
    LOADED = auto()
    CANNOT_BE_READ = auto()
    RESIGNED = auto()


SHARD: dict[State, dict[Move, State]] = {
    State.INITIAL: {Move.ELECTED: State.LOADING},
    State.LOADING: {
        Move.LOADED: State.ACTIVE,
        Move.CANNOT_BE_READ: State.FAILED,
        Move.RESIGNED: State.CLOSED,
    },
    State.ACTIVE: {Move.RESIGNED: State.CLOSED},
    State.FAILED: {Move.RESIGNED: State.CLOSED},
    State.CLOSED: {},
}
