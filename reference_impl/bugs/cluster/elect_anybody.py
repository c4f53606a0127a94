"""A controller that elects replicas out of the ISR and the ELR."""

from __future__ import annotations

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.rules import Rules


class ElectAnybody(Rules):
    """Real-world kin: elections that take the first replica alive for a complete one.

    Breaks:     a leader must have every committed record (KIP-966; design#replication).
    Caught by:  workload appends, nemesis last-replica-standing, checkers
                invariant leader-is-complete or lost_writes.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def may_be_elected(self, state: PartitionImage, replica: int) -> bool:
        """Return True for every replica."""
        return True
