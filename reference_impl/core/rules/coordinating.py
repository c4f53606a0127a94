"""The decisions on when a coordinator begins, and when it has ended."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.shards.states import State
from reference_impl.wire import ErrorCode


class Coordinating:
    """Decisions on one partition of a coordinator's topic, while its leaders change."""

    def is_loaded(self, loaded_to: int, log_end_offset: int) -> bool:
        """Return whether a shard has read all of its log (CoordinatorLoaderImpl.java, doLoad)."""
        return loaded_to >= log_end_offset

    def may_begin(self, loaded_to: int, high_watermark: int) -> bool:
        """Return whether a shard may start work: every record that it has loaded must be committed,
        since the next leader may not have uncommitted ones (CoordinatorRuntime.java,
        lastCommittedOffset)."""
        return high_watermark >= loaded_to

    def check_shard_state(self, state: State) -> None:
        """Raise Refused unless a shard is loaded: otherwise its answers would ignore records that
        it has not read yet.

        Source: CoordinatorRuntime.java, withActiveContextOrThrow.
        """
        if state is State.LOADING:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if state is not State.ACTIVE:
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def check_shard_leads(self, partition: Partition, leader_epoch: int) -> None:
        """Raise Refused(NOT_COORDINATOR) if the broker no longer leads a shard's partition, or
        leads it in another epoch than that in which the shard was loaded: others may have written
        meanwhile.

        Source: CoordinatorRuntime.java, scheduleUnloadOperation; KIP-98 (coordinator epoch).
        """
        if not partition.leads or partition.leader_epoch != leader_epoch:
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def shard_has_ended(self, loaded_epoch: int, led_epoch: int | None) -> bool:
        """Return whether a shard is closed because the broker no longer leads its partition (None),
        or leads it in another epoch (GroupCoordinatorService.java, onResignation)."""
        return led_epoch != loaded_epoch
