"""A consumer delivers a batch from its beginning, wherever it was asked to read."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class DeliverWholeBatches(ClientRules):
    """Real-world kin: clients that forget that brokers send whole batches.

    Breaks:     records before the position must be dropped (CompletedFetch).
    Caught by:  workload seeks, any nemesis or none,
                checkers poll_skips and poll_order.
    """

    def was_delivered(self, offset: int, position: int) -> bool:
        """Return False for every record."""
        return False
