"""A transactional producer's decisions about the end of its transaction."""

from __future__ import annotations

from reference_impl.client.producing.transactions.states import State


class Ending:
    """Decisions on how a transaction ends."""

    def must_abort(self, state: State) -> bool:
        """Return whether an error in this state, such as that of a send, leaves only the abort: a
        commit would lack what has failed (TransactionManager.maybeTransitionToErrorState)."""
        return state in (State.IN_TRANSACTION, State.COMMITTING_TRANSACTION)

    def commits(self, state: State) -> bool:
        """Return whether the transaction that ends is to be committed, else it is aborted
        (EndTxnRequest.json)."""
        return state is State.COMMITTING_TRANSACTION
