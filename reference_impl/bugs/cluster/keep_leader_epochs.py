"""A controller that gives a new leader the epoch of the former one."""

from __future__ import annotations

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.rules import Rules


class KeepLeaderEpochs(Rules):
    """Real-world kin: replication before KIP-101, which could not tell the records of two leaders
    apart.

    Breaks:     each leadership must have an epoch of its own (KIP-101).
    Caught by:  workload appends, nemesis kill-leader, checker liveness: a broker ignores a new
                leader in an epoch that it knows, so that its replica is never in sync again; the
                invariant one-leader sees it first.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def raises_leader_epoch(self, old: PartitionImage, leader: int) -> bool:
        """Return False for every new leader."""
        return False
