"""A consumer delivers the records that it had fetched before a seek."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class IgnoreSeeks(ClientRules):
    """Real-world kin: fetched records that survive a seek.

    Breaks:     a seek must drop the fetched records (FetchCollector).
    Caught by:  workload seeks, any nemesis or none, checkers poll_skips and poll_order.
    """

    def is_still_wanted(self, position: int | None, next_offset: int) -> bool:
        """Return True whatever the position is."""
        return True
