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
from reference_impl.core.partitions.follower_state import NEVER_MS, FollowerState
from reference_impl.core.refused import Refused
from reference_impl.wire import BatchHeader, ErrorCode

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Holder:
    """The functions of the broker that a partition needs."""

    node_id: int
    high_watermark: Callable[[Partition], int]
    """The rule that computes the offset up to which the partition is committed."""
    changed: Callable[[str, int], None]
    """A function to call when the high watermark has moved, or the leader or the ISR has
    changed."""
    acts_as_leader: Callable[[int], bool]
    """The rule that says whether this broker is the leader that the controller names."""
    maximal_isr: Callable[[Collection[int], Collection[int]], Collection[int]]
    """The rule that says which replicas may be in sync as the controller sees it."""
    is_joining: Callable[[Partition, int], bool]
    """Whether a replica outside the ISR is about to join it."""
    monotonic_ms: Callable[[], int]
    heard_ms: dict[int, int]
    """Broker id -> the time of its last fetch as a follower."""
    outsiders: dict[int, dict[Partition, None]]
    """The partitions that this broker leads, by the followers that are not in their ISR."""


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
        self._leads = holder.acts_as_leader(state.leader)
        self.followers: dict[int, FollowerState] = {}
        """The other replicas, while this broker leads."""
        self.proposed_isr: tuple[int, ...] | None = None
        """The ISR that this leader has asked the controller for, until the answer is in force."""
        self.epoch_start_offset = log.log_end_offset
        """The log end when this leadership began."""

    @property
    def leads(self) -> bool:
        """Return whether this broker is the leader."""
        return self._leads

    @property
    def waits_to_lead(self) -> bool:
        """Return whether this broker was elected and must not act as leader yet
        (Replicating.acts_as_leader)."""
        return self.state.leader == self._holder.node_id and not self._leads

    @property
    def leader_epoch(self) -> int:
        """Return the number of the current leadership; every batch carries it (KIP-101)."""
        return self.state.leader_epoch

    @property
    def config(self) -> LogConfig:
        """Return the topic's configuration in force."""
        return self.log.config

    @property
    def high_watermark(self) -> int:
        """Return the first offset that is not committed; consumers see only records below it."""
        return self.log.high_watermark

    @property
    def min_isr(self) -> int:
        """Return the least size that the ISR must have: min.insync.replicas, or the number of
        replicas if that is smaller (effectiveMinIsr)."""
        return min(self.log.config.min_insync_replicas, len(self.state.replicas))

    def ends_that_count(self) -> Collection[int]:
        """Return the log ends of the replicas whose records are committed only once all have them:
        this broker, the followers that are, or may be, in the ISR, and those that are about to join
        it (Partition.java, maybeIncrementLeaderHW)."""
        ends, followers = [self.log.log_end_offset], self.followers
        if followers:
            members = self._holder.maximal_isr(self.state.isr, self.proposed_isr or ())
            for replica, follower in followers.items():
                if replica in members or self._holder.is_joining(self, replica):
                    ends.append(follower.log_end_offset)
        return ends

    # --- writing ------------------------------------------------------------------------------

    def append(
        self, data: bytearray | memoryview, header: BatchHeader, now_ms: int
    ) -> AppendResult:
        """Write one batch at the end of the log, under the current leader epoch, and commit it if
        no follower counts. Return its offsets. The caller has checked that this broker leads. Raise
        StorageError if the write fails."""
        if self.followers:
            self._leave_followers_behind()
        result = self.log.append(data, header, self.state.leader_epoch, now_ms)
        self.advance_high_watermark()
        return result

    def _leave_followers_behind(self) -> None:
        end, heard_ms = self.log.log_end_offset, self._holder.heard_ms
        for replica, follower in self.followers.items():
            if follower.log_end_offset == end:
                follower.left_behind(heard_ms.get(replica, NEVER_MS))
        self._holder.changed(self.topic, self.index)  # followers also read uncommitted records

    def follower_reached(
        self, replica: int, log_end_offset: int, broker_epoch: int = -1, log_start_offset: int = -1
    ) -> None:
        """Note the two ends of a follower's log, and commit the records that every replica in the
        ISR has now. Do nothing for a node that is no replica."""
        follower = self.followers.get(replica)
        if follower is not None:
            leader_end, now_ms = self.log.log_end_offset, self._holder.monotonic_ms()
            follower.fetched(log_end_offset, leader_end, now_ms, broker_epoch)
            if log_start_offset != follower.log_start_offset:
                follower.log_start_offset = log_start_offset
                self._holder.changed(self.topic, self.index)
            self.advance_high_watermark()

    def take_state(self, state: PartitionImage) -> None:
        """Put the controller's new leader and ISR in force. A new partition epoch ends the leader's
        proposal for the ISR. Raise StorageError if the log cannot be used."""
        if state.partition_epoch != self.state.partition_epoch:
            self.proposed_isr = None
        is_new = state.leader_epoch > self.leader_epoch
        self.state = state
        self._leads = self._holder.acts_as_leader(state.leader)
        self._note_outsiders()
        if is_new:
            self.followers.clear()
        self.begin_epoch()
        self.advance_high_watermark()
        self._holder.changed(self.topic, self.index)

    def begin_epoch(self) -> None:
        """Begin the epoch of this leadership at the log end, unless it has begun, even if nothing
        is written in it: a follower learns of epochs by the batches that it copies. Give members of
        the ISR time to fetch, as they had all that was committed (Partition.makeLeader). If this
        broker does not lead, only forget the followers."""
        if not self.leads:
            self.followers.clear()
            return
        log, own = self.log, self._holder.node_id
        if log.latest_epoch != self.leader_epoch:
            self.epoch_start_offset = log.log_end_offset
            log.leader_epochs.begin(self.leader_epoch, log.log_end_offset)
        replicas = [replica for replica in self.state.replicas if replica != own]
        for replica in self.followers.keys() - replicas:
            del self.followers[replica]
        for replica in replicas:
            if replica not in self.followers:
                is_member = replica in self.state.isr
                now_ms = self._holder.monotonic_ms() if is_member else NEVER_MS
                self.followers[replica] = FollowerState(caught_up_ms=now_ms)
        self._note_outsiders()

    def _note_outsiders(self) -> None:
        outsiders = self._holder.outsiders
        for replica in self.followers:
            outsiders.get(replica, {}).pop(self, None)
        if self.leads and len(self.state.isr) < len(self.state.replicas):
            for replica in self.state.replicas:
                if replica not in self.state.isr:
                    outsiders.setdefault(replica, {})[self] = None

    def withdraw_proposal(self) -> None:
        """Forget the ISR that this leader has asked for, because the controller has refused it.
        Commit what waited for its members alone."""
        self.proposed_isr = None
        self.advance_high_watermark()

    def follow(self, high_watermark: int) -> None:
        """Set the high watermark of this follower, and wake the requests that wait for a change of
        it."""
        if high_watermark != self.log.high_watermark:
            self.log.high_watermark = high_watermark
            self._holder.changed(self.topic, self.index)

    def resign(self) -> None:
        """Stop leading or following, because the partition was deleted or reassigned to other
        brokers."""
        self.state = replace(self.state, leader=NO_LEADER)
        self._leads = False
        self._note_outsiders()

    def advance_high_watermark(self) -> None:
        """Move the high watermark up to the end of the committed records, and wake the requests
        that wait for it. Nothing else moves it while this broker leads; do nothing if it does
        not."""
        if not self.leads:
            return
        before = self.log.high_watermark
        committed = self._holder.high_watermark(self)
        if committed != before:
            self.log.high_watermark = committed
            self._holder.changed(self.topic, self.index)

    # --- leadership ---------------------------------------------------------------------------

    def check_leader_epoch(self, current: int) -> None:
        """Raise Refused unless the client's leader epoch is ours, or -1, unknown:
        FENCED_LEADER_EPOCH for an older one, UNKNOWN_LEADER_EPOCH for a newer one (KIP-320)."""
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
