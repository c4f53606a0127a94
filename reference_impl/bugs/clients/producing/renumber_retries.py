"""A producer gives every retry a new sequence number."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class RenumberRetries(ClientRules):
    """Real-world kin: a client that builds a new batch for each attempt.

    Breaks:     a retry must keep its sequence number (KIP-98).
    Caught by:  workload appends, nemesis latency,
                checker duplicates.
    """

    def needs_number(self, has_sequence: bool) -> bool:
        """Return True even for a retry."""
        return True
