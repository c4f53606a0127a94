"""The states of a transactional producer, and every way from one to another.

Source: TransactionManager.java (State, isTransitionValid); KIP-98, KIP-360, KIP-588.

A producer is UNINITIALIZED until the coordinator has given it an identity, which fences the
producer that had the same transactional id (INITIALIZING, READY). IN_TRANSACTION records are
gathered and sent. While COMMITTING or ABORTING, it first settles the batches in flight, then tells
the coordinator. After an error it is either in ABORTABLE_ERROR, and the application aborts and
continues, or in FATAL_ERROR, mostly because a successor has taken over: then it can only be closed.

Everything about transitions is in this file; their causes are in `transactions.py`.
"""

from __future__ import annotations

from enum import StrEnum, auto

from reference_impl.client.errors import IllegalState


class State(StrEnum):
    """The states of a producer, named as in Java."""

    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING_TRANSACTION = auto()
    ABORTING_TRANSACTION = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


class Move(StrEnum):
    """The moves that a transactional producer can make."""

    INIT = "init_transactions"
    IDENTITY_COMES = auto()
    BEGIN = "begin_transaction"
    COMMIT = "commit_transaction"
    ABORT = "abort_transaction"
    ENDED = auto()
    """The coordinator has decided as requested."""
    EPOCH_IS_SPENT = auto()
    """The epoch is used up: after an abort, a new one is needed to start the sequences over
    (KIP-360)."""
    PROBLEM = auto()
    """An error that an abort repairs."""
    FATAL_ERROR = auto()
    """An error that nothing repairs."""


_ANYWHERE = {Move.FATAL_ERROR: State.FATAL_ERROR}

PRODUCER: dict[State, dict[Move, State]] = {
    State.UNINITIALIZED: {Move.INIT: State.INITIALIZING, **_ANYWHERE},
    State.INITIALIZING: {Move.IDENTITY_COMES: State.READY, **_ANYWHERE},
    State.READY: {Move.BEGIN: State.IN_TRANSACTION, **_ANYWHERE},
    State.IN_TRANSACTION: {
        Move.COMMIT: State.COMMITTING_TRANSACTION,
        Move.ABORT: State.ABORTING_TRANSACTION,
        Move.PROBLEM: State.ABORTABLE_ERROR,
        **_ANYWHERE,
    },
    State.COMMITTING_TRANSACTION: {
        Move.ENDED: State.READY,
        Move.PROBLEM: State.ABORTABLE_ERROR,
        **_ANYWHERE,
    },
    State.ABORTING_TRANSACTION: {
        Move.ENDED: State.READY,
        Move.EPOCH_IS_SPENT: State.INITIALIZING,
        **_ANYWHERE,
    },
    State.ABORTABLE_ERROR: {Move.ABORT: State.ABORTING_TRANSACTION, **_ANYWHERE},
    State.FATAL_ERROR: {},
}


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise IllegalState for a call that the application
    must not make now."""
    following = PRODUCER[state].get(move)
    if following is None:
        raise IllegalState(f"{move} cannot be called while the producer is in state {state}")
    return following
