"""A replica's decisions about copies: the part of its log that a follower keeps, and the fetches
that a leader accepts."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.refused import Refused
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.wire import BatchHeader, ErrorCode


class Replicating:
    """Decisions by which all replicas get the same log, without a committed record being lost."""

    def truncation(self, log: ReadableLog, told: LogEnd) -> int:
        """Return the offset at which a follower cuts its log. told: the leader's newest epoch that
        is not newer than the follower's last, and its end. Epochs alone say which records differ:
        a high watermark comes late, and records above it may be committed (KIP-101, KIP-279;
        AbstractFetcherThread.getOffsetTruncationState)."""
        (epoch, end_offset), found = told, log.end_offset_for_epoch(told[0])
        if found[0] == epoch:
            return min(end_offset, found[1], log.log_end_offset)
        return min(found[1] if found[0] >= 0 else end_offset, log.log_end_offset)

    def kept_end(self, log: ReadableLog) -> int:
        """Return the end of the log that a follower keeps before its first fetch: all of its log,
        since its last epoch will show what differs; without any epoch, only what was committed
        (KIP-101; AbstractFetcherThread.truncateToHighWatermark)."""
        return log.high_watermark if log.latest_epoch is None else log.log_end_offset

    def check_fetched(self, log: ReadableLog, header: BatchHeader) -> None:
        """Raise ValueError for a batch that would change what the log holds already. Gaps are
        allowed: compaction leaves them (UnifiedLog.append, UnexpectedAppendOffsetException)."""
        if header.base_offset < log.log_end_offset:
            raise ValueError(
                f"the leader has sent offset {header.base_offset} again: this log ends at"
                f" {log.log_end_offset}"
            )

    def followed_high_watermark(self, log: ReadableLog, told: int) -> int:
        """Return a follower's high watermark: the leader's, but not beyond its own end
        (UnifiedLog.maybeUpdateHighWatermark)."""
        return min(told, log.log_end_offset)

    def check_replica_epoch(self, broker: BrokerImage | None, broker_epoch: int) -> None:
        """Raise Refused(NOT_LEADER_OR_FOLLOWER) for a fetch of an earlier incarnation of a
        follower, which may have had records that the present one has lost; -1 stands for any
        (KIP-903; Replica.updateFetchStateOrThrow)."""
        if broker is not None and -1 < broker_epoch < broker.broker_epoch:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def acts_as_leader(self, leader: int, node_id: int, *, is_registered: bool) -> bool:
        """Return whether a broker leads a partition: the controller has elected it, and has
        registered this process. The process before may have led in the same epoch and lost records;
        if this process led on in that epoch, its followers would cut off the records that it lacks
        (KIP-631; BrokerLifecycleManager.java, which lets the broker catch up with its registration
        first)."""
        return leader == node_id and is_registered

    def gives_up_replica(self, isr: Collection[int], node_id: int) -> bool:
        """Return whether a broker that cannot use the files of its replica gives it up: another
        replica is in sync, and can lead (KIP-858, the directory LOST). The last one in sync is
        kept: it takes no more records, but those that it has can still be read."""
        return bool(set(isr) - {node_id})

    # --- the ISR ------------------------------------------------------------------------------

    def is_caught_up(
        self, follower_end: int, leader_end: int, silent_ms: int, lag_max_ms: int
    ) -> bool:
        """Return whether a follower may stay in the ISR: it has the whole log, or had it not long
        ago (replica.lag.time.max.ms; KIP-16; Replica.isCaughtUp)."""
        return follower_end == leader_end or silent_ms <= lag_max_ms

    def has_reached(self, follower_end: int, high_watermark: int, epoch_start: int) -> bool:
        """Return whether a follower has all that is committed. The leader's high watermark may lag
        at first; what may be committed beyond it is older than the leader's epoch (KAFKA-7128;
        Partition.isFollowerInSync)."""
        return follower_end >= max(high_watermark, epoch_start)

    def maximal_isr(self, members: Collection[int], proposed: Collection[int]) -> Collection[int]:
        """Return the replicas that may be in the ISR as the controller sees it while a change is
        under way: it may elect a new one that is to join, and one that is to leave (KIP-497;
        PendingPartitionChange.maximalIsr)."""
        return {*members, *proposed}
