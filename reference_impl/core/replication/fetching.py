"""The fetch loops of a broker, one for each leader that it follows.

Source: AbstractFetcherThread.java, ReplicaFetcherManager.java, RemoteLeaderEndPoint.java. A loop is
a handler that no client waits for. It begins with the first partition that the leader leads, and
ends with the last. One bad partition does not stop the others: it rests for a while, or, where its
leader's log cannot be right, until another leader is elected.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.effects import Effect, Report
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.partition import NO_LEADER, Partition
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.quotas.replication import ReplicationQuota
from reference_impl.core.replication.copying import Copying, Damaged
from reference_impl.core.replication.session import REQUEST, FollowerSession, Position, ReplicaKey
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Answer, Later, Outbox, Pause, Unanswered
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

LIST_OFFSETS = definition("ListOffsetsRequest")
LATEST, EARLIEST = -1, -2
_PAUSE = Pause()


@dataclass(slots=True, eq=False)
class Copy:
    """A partition that is copied from its leader, in one leader epoch."""

    key: ReplicaKey
    topic: str
    leader_epoch: int
    is_asked: bool = False
    """Whether a request has named this partition in the current leader epoch. Before that, an
    answer belongs to an earlier epoch."""
    is_in_sync: bool = False
    """Whether the last answer has brought it to the leader's high watermark. Then it is not
    throttled (AbstractFetcherThread.java, shouldFollowerThrottle)."""


@dataclass(slots=True, eq=False)
class Source:
    """The partitions that are copied from one leader, and the fetch session with it."""

    copies: dict[ReplicaKey, Copy] = field(default_factory=dict)
    session: FollowerSession = field(default_factory=FollowerSession)
    resting: dict[ReplicaKey, int] = field(default_factory=dict)
    """The copies that are not fetched now, new ones or after a failure, and the time of the
    monotonic clock from which they are fetched."""


@dataclass(frozen=True, slots=True)
class Follower:
    """The broker that follows: its id, and functions that return its present epoch and
    configuration."""

    node_id: int
    broker_epoch: Callable[[], int]
    config: Callable[[], BrokerConfig]
    quota: ReplicationQuota
    """The throttle of what this broker fetches."""


class Followers:
    """The partitions that this broker follows, by their leaders."""

    def __init__(
        self,
        follower: Follower,
        replicas: Replicas,
        copying: Copying,
        moment: Moment,
        outbox: Outbox,
    ) -> None:
        self._follower, self._replicas, self._copying = follower, replicas, copying
        self._moment, self._outbox = moment, outbox
        self._sources: dict[int, Source] = {}
        self._leaders: dict[ReplicaKey, int] = {}

    def follow(self, topic: TopicImage, indexes: Iterable[int]) -> None:
        """Copy each of these partitions from its leader, if that is another broker and this one is
        a replica; stop copying the others, and begin again where the leader epoch is new."""
        own = self._follower.node_id
        for index in sorted(indexes):
            key, state = (topic.topic_id, index), topic.partitions[index]
            follows = own in state.replicas and state.leader not in (own, NO_LEADER)
            known = self._copy(key)
            if known is not None and follows and known.leader_epoch == state.leader_epoch:
                continue
            self._leave(key)
            if follows:
                self._leaders[key] = state.leader
                source = self._sources.setdefault(state.leader, Source())
                source.copies[key] = Copy(key, topic.name, state.leader_epoch)
                source.resting[key] = 0
                self._outbox.post(f"fetch from {state.leader}", self._fetch_from(state.leader))

    def forget(self, topic: TopicImage) -> None:
        """Stop copying the partitions of a deleted topic."""
        for index in topic.partitions:
            self._leave((topic.topic_id, index))

    def stop(self, key: ReplicaKey) -> None:
        """Stop fetching a partition until it has another leader, since its log takes no records any
        more. A fetch from the end of the log would tell the leader that this replica is in sync."""
        leader = self._leaders.get(key)
        if leader is not None:
            self._sources[leader].session.drop(key)

    def _copy(self, key: ReplicaKey) -> Copy | None:
        leader = self._leaders.get(key)
        return None if leader is None else self._sources[leader].copies.get(key)

    def _leave(self, key: ReplicaKey) -> None:
        leader = self._leaders.pop(key, None)
        if leader is not None:
            source = self._sources[leader]
            source.copies.pop(key, None)
            source.resting.pop(key, None)
            source.session.drop(key)

    # --- one leader ---------------------------------------------------------------------------

    def _fetch_from(self, leader: int) -> Generator[Effect, Any, None]:
        """Fetch from a leader as long as there is anything to copy from it. Pause after a
        failure."""
        source = self._sources[leader]
        while source.copies:
            yield from self._wake(source)
            self._hold_back(source)
            if not source.session.positions:
                yield Later(self._number("replica.fetch.backoff.ms"))
                continue
            body = self._request(source)
            timeout_ms = self._number("replica.socket.timeout.ms")
            try:
                answer = yield Answer(leader, ApiKey.FETCH, body, timeout_ms, Lane.DATA)
            except Unanswered:
                source.session.lost()
                yield Later(self._number("replica.fetch.backoff.ms"))
                continue
            if source.session.answered(answer):
                yield from self._take(leader, source, answer)
            elif answer.error_code not in SESSION_ERRORS:
                yield Later(self._number("replica.fetch.backoff.ms"))
        source.session.lost()

    def _wake(self, source: Source) -> Iterator[Effect]:
        """Prepare the copies whose rest is over, and let the next request fetch them. To open a
        partition takes long, so other handlers have their turn after each."""
        now_ms = self._moment.monotonic_ms
        for key in [key for key, until_ms in source.resting.items() if until_ms <= now_ms]:
            if source.resting.pop(key, None) is None:
                continue  # stopped while other requests had their turn
            copy = source.copies[key]
            partition = self._partition(copy)
            if partition is not None:
                try:
                    yield from self._copying.prepare(partition)
                except StorageError as error:
                    yield self._fail(source, copy, partition, error)
                    continue
                source.session.want(key, position_of(partition))
            yield _PAUSE

    def _hold_back(self, source: Source) -> None:
        """Let throttled copies rest, once more was fetched of them than the rate allows."""
        quota = self._follower.quota
        if not quota.is_used_up(self._moment.monotonic_ms):
            return
        for key in list(source.session.positions):
            copy = source.copies[key]
            if not copy.is_in_sync and quota.concerns(copy.topic, key[1]):
                self._rest(source, copy)

    def _request(self, source: Source) -> Struct:
        for key in source.session.positions:
            source.copies[key].is_asked = True
        follower = self._follower
        return source.session.request(
            self._number("replica.fetch.max.bytes"),
            replica_id=follower.node_id,
            replica_state=REQUEST.struct(
                "ReplicaState", replica_id=follower.node_id, replica_epoch=follower.broker_epoch()
            ),
            max_wait_ms=self._number("replica.fetch.wait.max.ms"),
            min_bytes=self._number("replica.fetch.min.bytes"),
            max_bytes=self._number("replica.fetch.response.max.bytes"),
        )

    def _take(self, leader: int, source: Source, answer: Struct) -> Generator[Effect, Any, None]:
        for topic in answer.responses:
            for row in topic.partitions:
                copy = source.copies.get((topic.topic_id, row.partition_index))
                partition = None if copy is None else self._partition(copy)
                if copy is None or partition is None or not copy.is_asked:
                    continue
                try:
                    yield from self._take_row(leader, source, copy, partition, row)
                except Damaged as damaged:
                    yield self._stop(source, copy, str(damaged))
                except StorageError as error:
                    yield self._fail(source, copy, partition, error)
                yield _PAUSE

    def _take_row(
        self, leader: int, source: Source, copy: Copy, partition: Partition, row: Struct
    ) -> Generator[Effect, Any, None]:
        if row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if not (yield from self._begin_anew(leader, copy, partition)):
                self._rest(source, copy)
                return
        elif row.error_code != ErrorCode.NONE:
            self._rest(source, copy)
            return
        elif row.diverging_epoch.epoch >= 0:
            told = row.diverging_epoch.epoch, row.diverging_epoch.end_offset
            yield from self._copying.truncate(partition, told)
        else:
            self._copying.take(partition, row)
            copy.is_in_sync = partition.log.log_end_offset >= row.high_watermark
            quota = self._follower.quota
            if quota.concerns(copy.topic, copy.key[1]):
                quota.record(len(row.records or b""), self._moment.monotonic_ms)
        source.session.want(copy.key, position_of(partition))

    def _begin_anew(
        self, leader: int, copy: Copy, partition: Partition
    ) -> Generator[Effect, Any, bool]:
        """Change our log so that it ends at an offset that the leader has, and return whether that
        was possible. If the leader's log ends before ours, cut ours at that end; if it starts after
        our end, drop our log and begin at that start
        (AbstractFetcherThread.fetchOffsetAndTruncate). Return False if the leader does not answer
        or no longer differs, or if our partition was changed meanwhile."""
        end = yield from self._offset(leader, copy, LATEST)
        start = yield from self._offset(leader, copy, EARLIEST)
        if end is None or start is None or self._partition(copy) is not partition:
            return False
        if end < partition.log.log_end_offset:
            yield from self._copying.cut(partition, end)
        elif start > partition.log.log_end_offset:
            self._copying.begin_at(partition, start)
        else:
            return False  # the leader's log has changed meanwhile
        return True

    def _offset(
        self, leader: int, copy: Copy, timestamp: int
    ) -> Generator[Effect, Any, int | None]:
        """Return the start or the end of the leader's log, which its ListOffsets answer names
        (`timestamp`: EARLIEST or LATEST). Return None if it does not answer, or answers with an
        error."""
        row = LIST_OFFSETS.struct(
            "ListOffsetsPartition",
            partition_index=copy.key[1],
            current_leader_epoch=copy.leader_epoch,
            timestamp=timestamp,
        )
        topic = LIST_OFFSETS.struct("ListOffsetsTopic", name=copy.topic, partitions=[row])
        body = LIST_OFFSETS.new(replica_id=self._follower.node_id, topics=[topic])
        timeout_ms = self._number("replica.socket.timeout.ms")
        try:
            answer = yield Answer(leader, ApiKey.LIST_OFFSETS, body, timeout_ms, Lane.DATA)
        except Unanswered:
            return None
        found = answer.topics[0].partitions[0]
        return None if found.error_code != ErrorCode.NONE else int(found.offset)

    # --- partitions ---------------------------------------------------------------------------

    def _partition(self, copy: Copy) -> Partition | None:
        """Return the partition of a copy. Return None if it is offline, was replaced by a topic of
        the same name, takes no records, or has another leader epoch meanwhile."""
        partition = self._replicas.get(copy.topic, copy.key[1])
        if partition is None or partition.topic_id != copy.key[0] or not partition.log.is_trusted:
            return None
        return partition if partition.leader_epoch == copy.leader_epoch else None

    def _rest(self, source: Source, copy: Copy) -> None:
        """Do not fetch a copy for replica.fetch.backoff.ms."""
        source.session.drop(copy.key)
        pause_ms = self._number("replica.fetch.backoff.ms")
        if source.copies.get(copy.key) is copy:
            source.resting[copy.key] = self._moment.monotonic_ms + pause_ms

    def _fail(
        self, source: Source, copy: Copy, partition: Partition, error: StorageError
    ) -> Report:
        """Handle a failed write, and return the report of it. If the log may go on (the disk was
        full, or one write failed), fetch the copy again after a while. After a failed sync, stop
        fetching it: the position of the next fetch would tell the leader that records are here
        which are not on the disk."""
        if not (error.no_space or partition.log.is_trusted):
            return self._stop(source, copy, str(error))
        self._rest(source, copy)
        return Report(
            f"{copy.topic}-{copy.key[1]} is not copied now, and is tried again later: {error}"
        )

    def _stop(self, source: Source, copy: Copy, reason: str) -> Report:
        """Stop fetching a copy until it has another leader, and return the report that says why."""
        source.session.drop(copy.key)
        return Report(f"{copy.topic}-{copy.key[1]} is not copied any more: {reason}")

    def _number(self, name: str) -> int:
        return self._follower.config().number(name)


SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)
"""Errors after which the next request begins another session, without a pause."""


def position_of(partition: Partition) -> Position:
    """Return the position from which a follower continues to fetch: the end of its log."""
    log, latest = partition.log, partition.log.latest_epoch
    return Position(
        partition.topic,
        partition.leader_epoch,
        log.log_end_offset,
        -1 if latest is None else latest,
        log.log_start_offset,
    )
