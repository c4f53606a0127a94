"""A new leader that tells consumers an end of the log below what was committed before it led."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class ListStaleEnds(Rules):
    """Real-world kin: KIP-207, where the end of a partition went back after an election.

    Breaks:     a reader must see every record that others have read (design#replication).
    Caught by:  workload register, nemesis kill-all, checker register (porcupine).
    Within:     a few runs of 20 seconds with three nodes.
    """

    def check_end_is_known(self, high_watermark: int, epoch_start: int) -> None:
        """Accept every high watermark."""
