"""A coordinator that keeps what it knew before another broker took its place."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode


class ServeReplacedShards(Rules):
    """Real-world kin: committed offsets that were not loaded when a coordinator took over (Apache
    Kafka, pull request 2436).

    Breaks:     a coordinator must know every record of its log, also those of the leaders between
                two of its own epochs (GroupCoordinatorService.java, onResignation).
    Caught by:  workload offsets, nemesis pause, config offsets.topic.num.partitions=1 (one
                coordinator for all groups) and a session so short that each paused coordinator is
                replaced while its process lives, checker committed_offsets.
    Within:     20 runs of 20 seconds with three nodes.

    It overrides two rules: with one of them in place, the old shard is closed, or cannot be used.
    """

    def shard_has_ended(self, loaded_epoch: int, led_epoch: int | None) -> bool:
        """Return False: close no shard."""
        return False

    def check_shard_leads(self, partition: Partition, leader_epoch: int) -> None:
        """Raise Refused(NOT_COORDINATOR) if another broker leads, whatever the epoch."""
        if not partition.leads:
            raise Refused(ErrorCode.NOT_COORDINATOR)
