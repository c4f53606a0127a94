"""One partition as its leader sees it: the log, the leader, the followers, and the committed
offset.

Source: Partition.java (appendRecordsToLeader, maybeIncrementLeaderHW, updateFollowerFetchState).
Everything that this broker writes as a leader goes through `Partition.append`: what producers send,
what the coordinators keep, and markers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import AppendResult, PartitionLog
from reference_impl.core.refused import Refused
from reference_impl.wire import BatchHeader, ErrorCode

NO_LEADER = -1
NEVER_FETCHED = -1
"""The log end offset of a follower that has not fetched from this leader yet."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The functions of the broker that a partition needs."""

    node_id: int
    high_watermark: Callable[[Partition], int]
    """The rule that computes the offset up to which the partition is committed."""
    changed: Callable[[str, int], None]
    """A function to call when the high watermark has moved, or the leader or the ISR has
    changed."""


class Partition:
    """One replica of a partition. `state` holds the leader and the ISR, as the controller has
    decided them."""

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: UUID,
        state: PartitionImage,
        log: PartitionLog,
        holder: Holder,
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.state = state
        self.log = log
        self._holder = holder
        self._follower_ends: dict[int, int] = {}

    @property
    def leads(self) -> bool:
        """Whether this broker is the leader."""
        return self.state.leader == self._holder.node_id

    @property
    def leader_epoch(self) -> int:
        """The number of the current leadership; every batch carries it (KIP-101)."""
        return self.state.leader_epoch

    @property
    def config(self) -> LogConfig:
        """The configuration in force."""
        return self.log.config

    @property
    def high_watermark(self) -> int:
        """The first offset that is not committed; consumers see only records below it."""
        return self.log.high_watermark

    @property
    def min_isr(self) -> int:
        """The least size that the ISR must have: min.insync.replicas, or the number of replicas if
        that is smaller (effectiveMinIsr)."""
        return min(self.log.config.min_insync_replicas, len(self.state.replicas))

    def ends_in_sync(self) -> Collection[int]:
        """Return the log end of each replica in the ISR, as far as this leader knows."""
        ends, own = self._follower_ends, self._holder.node_id
        return [
            self.log.log_end_offset if replica == own else ends.get(replica, NEVER_FETCHED)
            for replica in self.state.isr
        ]

    # --- writing ------------------------------------------------------------------------------

    def append(
        self, data: bytearray | memoryview, header: BatchHeader, now_ms: int
    ) -> AppendResult:
        """Write one batch at the end of the log, under the current leader epoch. Raise
        StorageError."""
        result = self.log.append(data, header, self.state.leader_epoch, now_ms)
        self.advance_high_watermark()
        if len(self.state.replicas) > 1:
            self._holder.changed(self.topic, self.index)  # followers read beyond what is committed
        return result

    def follower_reached(self, replica: int, log_end_offset: int) -> None:
        """Note the log end offset of a follower, and commit the records that every replica in the
        ISR has now."""
        self._follower_ends[replica] = log_end_offset
        self.advance_high_watermark()

    def take_state(self, state: PartitionImage) -> None:
        """Put the controller's new leader and ISR in force. Raise StorageError."""
        if state.leader_epoch > self.leader_epoch:
            self._follower_ends.clear()
        self.state = state
        self.begin_epoch()
        self.advance_high_watermark()
        self._holder.changed(self.topic, self.index)

    def begin_epoch(self) -> None:
        """Begin the epoch of this leadership at the log end, even if nothing is written in it. A
        follower learns of epochs by the batches that it copies (Partition.makeLeader)."""
        if self.leads:
            self.log.leader_epochs.begin(self.state.leader_epoch, self.log.log_end_offset)

    def follow(self, high_watermark: int) -> None:
        """Take over the leader's high watermark, as far as this log goes."""
        if high_watermark != self.log.high_watermark:
            self.log.high_watermark = high_watermark
            self._holder.changed(self.topic, self.index)

    def resign(self) -> None:
        """Stop being the leader, because the partition is deleted."""
        self.state = replace(self.state, leader=NO_LEADER)

    def advance_high_watermark(self) -> None:
        """Move the high watermark up to the end of the committed records, and wake the requests
        that wait for it. Nothing else moves it while this broker leads."""
        if not self.leads:
            return
        before = self.log.high_watermark
        committed = self._holder.high_watermark(self)
        if committed != before:
            self.log.high_watermark = committed
            self._holder.changed(self.topic, self.index)

    # --- leadership ---------------------------------------------------------------------------

    def check_leader_epoch(self, current: int) -> None:
        """Raise Refused unless the client's leader epoch is ours, or -1, unknown (KIP-320)."""
        if current in (-1, self.leader_epoch):
            return
        if current < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def check_still_leads(self, leader_epoch: int) -> None:
        """Raise Refused(NOT_LEADER_OR_FOLLOWER) unless this broker still leads in the epoch in
        which a record was written. Under another leader the record may be lost."""
        if self.state.leader_epoch != leader_epoch or not self.leads:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
