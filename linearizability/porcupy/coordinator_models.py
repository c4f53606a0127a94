"""The promises of coordinators and controllers as models, which the executable has too.

Each state is a number that only grows (an epoch or a generation), with further values. An operation
with an older number is refused. An operation of unknown outcome may have had its effect, or none.
"""

from __future__ import annotations

from typing import Final

from linearizability.porcupy.operations import UNKNOWN, Op
from linearizability.porcupy.python_models import PythonModel

State = tuple[int, int]
FENCED: Final = 0
"""A result (column c): the epoch or generation in the request is not the current one."""
ACCEPTED: Final = 1
BAD_STATE: Final = 2
"""A result: the epoch is current, but the state does not allow the operation
(INVALID_TXN_STATE)."""


class TransactionKind:
    """The kinds of operations in the model `transaction`. Its state: the epoch of a transactional
    id, and the state of its transaction.

    The end of a transaction leaves the epoch as it is (transaction version 1). KIP-890 raises it.
    """

    INIT: Final = 0
    """InitProducerId. c: the epoch returned; the operation ends an ongoing transaction."""
    SEND: Final = 1
    """A send in a transaction. a: the epoch, c: a result. The next two kinds have the same
    columns."""
    COMMIT: Final = 2
    ABORT: Final = 3


class OffsetKind:
    """The kinds of operations in the model `committed_offset`. Its state: a group's generation, and
    the offset committed for one partition, -1 at first."""

    GENERATION: Final = 0
    """A new generation begins. c: its number."""
    COMMIT: Final = 1
    """A commit of an offset. a: the offset, b: the generation, c: ACCEPTED or FENCED."""
    FETCH: Final = 2
    """A fetch of the committed offset. c: the offset returned."""


class EpochKind:
    """The kinds of operations in the model `leader_epoch`. Its state: a partition's epoch, 0 at
    first, and its leader, -1 at first."""

    ELECT: Final = 0
    """The election of a leader. a: the leader, c: its epoch."""
    READ: Final = 1
    """A read of the leader. a: the leader, c: the epoch, as returned."""
    CHECK: Final = 2
    """A check of an epoch. a: the epoch in the request, c: ACCEPTED or FENCED."""


EMPTY, ONGOING, COMMITTED, ABORTED = range(4)
AFTER: Final = {
    (TransactionKind.SEND, EMPTY): ONGOING,
    (TransactionKind.SEND, ONGOING): ONGOING,
    (TransactionKind.SEND, COMMITTED): ONGOING,
    (TransactionKind.SEND, ABORTED): ONGOING,
    (TransactionKind.COMMIT, ONGOING): COMMITTED,
    (TransactionKind.COMMIT, COMMITTED): COMMITTED,
    (TransactionKind.ABORT, ONGOING): ABORTED,
    (TransactionKind.ABORT, ABORTED): ABORTED,
}
"""(kind, state) -> the state after the operation. A request to end may be repeated, with the same
result."""


def _begin(number: int, op: Op, value: int) -> State | None:
    if op.status == UNKNOWN:
        return number + 1, value
    return (op.c, value) if op.c > number else None


def _step_transaction(state: State, op: Op) -> State | None:
    epoch, phase = state
    if op.kind == TransactionKind.INIT:
        return _begin(epoch, op, EMPTY)
    after = AFTER.get((op.kind, phase))
    if op.a != epoch:
        result, following = FENCED, state
    elif after is None:
        result, following = BAD_STATE, state
    else:
        result, following = ACCEPTED, (epoch, after)
    return following if op.status == UNKNOWN or op.c == result else None


def _step_committed_offset(state: State, op: Op) -> State | None:
    generation, offset = state
    if op.kind == OffsetKind.GENERATION:
        return _begin(generation, op, offset)
    if op.kind == OffsetKind.FETCH:
        return state if op.status == UNKNOWN or op.c == offset else None
    result, following = (ACCEPTED, (generation, op.a)) if op.b == generation else (FENCED, state)
    return following if op.status == UNKNOWN or op.c == result else None


def _step_leader_epoch(state: State, op: Op) -> State | None:
    epoch, leader = state
    if op.kind == EpochKind.ELECT:
        return _begin(epoch, op, op.a)
    if op.status == UNKNOWN:
        return state
    if op.kind == EpochKind.READ:
        return state if (op.c, op.a) == (epoch, leader) else None
    return state if (op.c == ACCEPTED) == (op.a == epoch) else None


TRANSACTION = PythonModel((-1, EMPTY), _step_transaction, name="transaction")
COMMITTED_OFFSET = PythonModel(
    (0, -1), _step_committed_offset, lambda op: op.kind == OffsetKind.FETCH, "committed_offset"
)
LEADER_EPOCH = PythonModel(
    (0, -1), _step_leader_epoch, lambda op: op.kind != EpochKind.ELECT, "leader_epoch"
)
COORDINATOR_MODELS = (TRANSACTION, COMMITTED_OFFSET, LEADER_EPOCH)
