"""A transactional producer's decisions about the end of its transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.client.producing.transactions.states import State

if TYPE_CHECKING:
    from reference_impl.client.producing.accumulator import Batch


class Ending:
    """When a transaction may end, and how."""

    def may_end(self, has_incomplete: bool) -> bool:
        """Return whether the coordinator may be asked to end the transaction: not while records of
        it are under way (KIP-98; TransactionManager.nextRequest)."""
        return not has_incomplete

    def commits(self, state: State) -> bool:
        """Return whether the transaction that ends is to be committed, else it is aborted."""
        return state is State.COMMITTING_TRANSACTION

    def spoils(self, batch: Batch) -> bool:
        """Return whether a batch that failed leaves nothing but an abort: a commit would keep a
        part of the transaction only (TransactionManager.handleFailedBatch)."""
        return batch.is_transactional
