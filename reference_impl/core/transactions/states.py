"""The states of a transactional id, and every way from one to another.

Source: TransactionState.java (the states, their ids and valid predecessors); KIP-98, Transaction
Coordinator; KIP-890 (an abort without a transaction).

A transactional id is EMPTY once a producer has asked for its producer id and epoch. With the first
partition (or consumer group) it is ONGOING. EndTxn, a time-out or a newer producer decides: from
PREPARE_COMMIT or PREPARE_ABORT on, which is in the log before anything else happens, the outcome
cannot change, not even by a crash. Then a marker goes into every partition of the transaction, and
the id is COMPLETE_COMMIT or COMPLETE_ABORT; its next transaction begins there. DEAD is an id that
was not used for a long time.

Kafka's PREPARE_EPOCH_FENCE is never written to its log: it is the moment in which a newer epoch is
given to an ongoing transaction so as to abort it; here that and the abort are one step.

Everything about transitions is in this file; their causes are in the others.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """The states of a transactional id. The values are the names in DescribeTransactions and
    ListTransactions."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"


STATE_IDS = {
    0: State.EMPTY,
    1: State.ONGOING,
    2: State.PREPARE_COMMIT,
    3: State.PREPARE_ABORT,
    4: State.COMPLETE_COMMIT,
    5: State.COMPLETE_ABORT,
    6: State.DEAD,
}
"""The codes of the states in TransactionLogValue.TransactionStatus."""


class Move(Enum):
    """The moves that a transactional id can make."""

    PRODUCER_COMES = auto()
    """InitProducerId was handled: a producer begins with an epoch of its own."""
    PARTITIONS_ADDED = auto()
    """A partition or a consumer group takes part from now on."""
    COMMIT_DECIDED = auto()
    ABORT_DECIDED = auto()
    MARKERS_WRITTEN = auto()
    """Every partition of the transaction has its marker."""
    EXPIRES = auto()
    """The transactional id was not used for `transactional.id.expiration.ms`."""


_AT_REST = {
    Move.PRODUCER_COMES: State.EMPTY,
    Move.PARTITIONS_ADDED: State.ONGOING,
    # [New in EndTxn v5: KIP-890] An abort that has nothing to abort still changes the epoch.
    Move.ABORT_DECIDED: State.PREPARE_ABORT,
    Move.EXPIRES: State.DEAD,
}

TRANSACTION: dict[State, dict[Move, State]] = {
    State.EMPTY: _AT_REST,
    State.ONGOING: {
        Move.PARTITIONS_ADDED: State.ONGOING,
        Move.COMMIT_DECIDED: State.PREPARE_COMMIT,
        Move.ABORT_DECIDED: State.PREPARE_ABORT,
    },
    State.PREPARE_COMMIT: {Move.MARKERS_WRITTEN: State.COMPLETE_COMMIT},
    State.PREPARE_ABORT: {Move.MARKERS_WRITTEN: State.COMPLETE_ABORT},
    State.COMPLETE_COMMIT: _AT_REST,
    State.COMPLETE_ABORT: _AT_REST,
    State.DEAD: {},
}

AT_REST = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
"""The states in which a transactional id may expire."""
PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of the broker itself."""
    following = TRANSACTION[state].get(move)
    if following is None:
        raise ValueError(f"a transaction that is {state.value} cannot make the move {move.name}")
    return following
