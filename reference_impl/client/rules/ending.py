"""A transactional producer's decisions about the end of its transaction."""

from __future__ import annotations

from reference_impl.client.producing.transactions.states import State


class Ending:
    """Decisions on how a transaction ends."""

    def commits(self, state: State) -> bool:
        """Return whether the transaction that ends is to be committed, else it is aborted
        (EndTxnRequest.json)."""
        return state is State.COMMITTING_TRANSACTION
