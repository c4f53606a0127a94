"""A producer commits the transactions that its application aborts."""

from __future__ import annotations

from reference_impl.client.producing.transactions.states import State
from reference_impl.client.rules import ClientRules


class CommitAborts(ClientRules):
    """Real-world kin: an inverted flag in EndTxn.

    Breaks:     abortTransaction must send committed=false (EndTxnRequest.json).
    Caught by:  workload transactions, any nemesis or none,
                checker ends_honoured.
    """

    def commits(self, state: State) -> bool:
        """Return True for an abort, too."""
        return True
