"""Decide whether an EndTxn may end the transaction, has been answered before, or is wrong.

Source: TransactionCoordinator.scala (endTransaction, endTransactionWithTV1); KIP-98, KIP-588,
KIP-890. Where each transaction has its own epoch, the epoch distinguishes a repeated request from a
new one. In older versions, a request with the same epoch and outcome counts as a repetition.
"""

from __future__ import annotations

from enum import Enum, auto

from reference_impl.core.refused import Refused
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import (
    EPOCH_LAST,
    EPOCH_PER_TRANSACTION,
    Transaction,
)
from reference_impl.wire import ErrorCode


class Ending(Enum):
    """The work that an EndTxn request still requires."""

    DECIDE = auto()
    DONE = auto()
    """The transaction was already decided in the same way: send the same answer again."""


_OUTCOME = {State.COMPLETE_COMMIT: True, State.COMPLETE_ABORT: False}


def check_ending_producer(
    transaction: Transaction, producer_id: int, epoch: int, version: int
) -> None:
    """Raise Refused unless this producer may end the transaction, or ended it already. version: the
    level of transaction.version by which its client works."""
    retries = version >= EPOCH_PER_TRANSACTION and _is_retry(transaction, producer_id, epoch)
    if transaction.producer_id != producer_id and not retries:
        raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_answered = retries and transaction.state in _OUTCOME
    if epoch != transaction.producer_epoch and not is_answered:
        raise Refused(ErrorCode.PRODUCER_FENCED)


def _is_retry(transaction: Transaction, producer_id: int, epoch: int) -> bool:
    """Return whether the epoch is the one that this producer had before the last end of a
    transaction, which bumped the epoch or, after the last epoch, changed the id (KIP-890)."""
    if transaction.producer_id == producer_id:
        return transaction.producer_epoch == epoch + 1
    has_rotated = epoch == EPOCH_LAST and transaction.producer_epoch == 0
    return has_rotated and transaction.previous_producer_id == producer_id


def decide(
    transaction: Transaction, producer_id: int, epoch: int, *, commit: bool, version: int
) -> Ending:
    """Return the work that is left for an EndTxn. Raise Refused if the transaction was ended
    otherwise, or there is none to commit or, for a classic client, none to abort. The caller has
    checked the producer, and that the markers of the last transaction are written."""
    state = transaction.state
    if state is State.ONGOING:
        return Ending.DECIDE
    # [New in v5: KIP-890]
    if version >= EPOCH_PER_TRANSACTION:
        return _with_epoch_per_transaction(
            state, commit=commit, is_retry=_is_retry(transaction, producer_id, epoch)
        )
    if _OUTCOME.get(state) is not commit:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    return Ending.DONE


def _with_epoch_per_transaction(state: State, *, commit: bool, is_retry: bool) -> Ending:
    if is_retry and state in _OUTCOME:
        if _OUTCOME[state] is not commit:
            raise Refused(ErrorCode.INVALID_TXN_STATE)
        return Ending.DONE
    if commit:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    return Ending.DECIDE  # an abort without a transaction changes only the epoch
