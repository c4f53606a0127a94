"""Whether an EndTxn may decide, has been answered before, or is wrong.

Source: TransactionCoordinator.scala (endTransaction, endTransactionWithTV1); KIP-98, KIP-588,
KIP-890. With an epoch for each transaction a repeated request is told from the next one by its
epoch; before that, the same epoch and the same outcome are taken for a repetition.
"""

from __future__ import annotations

from enum import Enum, auto

from reference_impl.core.refused import Refused
from reference_impl.core.transactions.states import PREPARED, State
from reference_impl.core.transactions.transaction import (
    EPOCH_LAST,
    EPOCH_PER_TRANSACTION,
    Transaction,
)
from reference_impl.wire import ErrorCode


class Ending(Enum):
    """What is left to do."""

    DECIDE = auto()
    DONE = auto()
    """It was decided like this before: the same answer again."""


_OUTCOME = {
    State.PREPARE_COMMIT: True,
    State.COMPLETE_COMMIT: True,
    State.PREPARE_ABORT: False,
    State.COMPLETE_ABORT: False,
}


def decide(
    transaction: Transaction, producer_id: int, epoch: int, *, commit: bool, version: int
) -> Ending:
    """What an EndTxn of this producer means; raises Refused."""
    if version >= EPOCH_PER_TRANSACTION:
        return _with_epoch_per_transaction(transaction, producer_id, epoch, commit=commit)
    if transaction.producer_id != producer_id:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != epoch:
        raise Refused(ErrorCode.PRODUCER_FENCED)
    if transaction.state is State.ONGOING:
        return Ending.DECIDE
    if _OUTCOME.get(transaction.state) is not commit:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    if transaction.state in PREPARED:
        raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    return Ending.DONE


def _with_epoch_per_transaction(
    transaction: Transaction, producer_id: int, epoch: int, *, commit: bool
) -> Ending:
    # [New in v5: KIP-890]
    state = transaction.state
    is_retry_of_last_epoch = (
        transaction.previous_producer_id == producer_id
        and epoch == EPOCH_LAST
        and transaction.producer_epoch == 0
    )
    is_retry = transaction.producer_epoch == epoch + 1 or is_retry_of_last_epoch
    if transaction.producer_id != producer_id and not is_retry_of_last_epoch:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not _is_valid_epoch(transaction, epoch, is_retry=is_retry):
        raise Refused(ErrorCode.PRODUCER_FENCED)
    if state is State.ONGOING:
        return Ending.DECIDE
    if state in PREPARED:
        if _OUTCOME[state] is not commit:
            raise Refused(ErrorCode.INVALID_TXN_STATE)
        raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if is_retry and state in _OUTCOME:
        if _OUTCOME[state] is not commit:
            raise Refused(ErrorCode.INVALID_TXN_STATE)
        return Ending.DONE
    if commit:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    return Ending.DECIDE  # an abort of nothing: only the epoch changes


def _is_valid_epoch(transaction: Transaction, epoch: int, *, is_retry: bool) -> bool:
    if transaction.state in PREPARED:
        return is_retry
    if transaction.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
        return is_retry or epoch == transaction.producer_epoch
    return epoch == transaction.producer_epoch
