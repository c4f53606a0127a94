"""A read_committed consumer does not stop dropping records after the marker of an abort."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.client.rules import ClientRules


class DropOn(ClientRules):
    """Real-world kin: a set of aborting producers that is never cleared.

    Breaks:     a consumer may drop records only up to the ABORT marker (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checkers poll_skips and
                torn_transactions.
    """

    def ends_abort(self, producer_id: int, is_abort: bool, aborting: Collection[int]) -> bool:
        """Return False for every marker."""
        return False
