"""A producer forgets that a send has failed, and commits the transaction without that record."""

from __future__ import annotations

from reference_impl.client.producing.transactions.states import State
from reference_impl.client.rules import ClientRules


class CommitOverFailures(ClientRules):
    """Real-world kin: clients that leave it to the application to look at each delivery report.

    Breaks:     commitTransaction must fail if a send in the transaction has failed (KafkaProducer,
                commitTransaction; KIP-98).
    Caught by:  workload transactions, any nemesis or none,
                checker ends_honoured.
    """

    def must_abort(self, state: State) -> bool:
        """Return False for an error that came before the commit was asked for."""
        return state is State.COMMITTING_TRANSACTION
