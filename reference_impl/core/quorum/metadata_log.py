"""The log that holds the cluster's metadata: `__cluster_metadata-0`, in Kafka's own records.

Source: KIP-631, KIP-595, KIP-630; KafkaRaftLog.java, RaftClient.java (Listener). The leader of the
quorum appends here, its followers append what they fetch, and cut off what diverges from its log.
Records that a majority has are committed (`Quorum.commit`); the listeners are given only those.
Snapshots (`snapshots/`) stand for the beginning of the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.replaying import replaying
from reference_impl.core.quorum.batches.accumulator import MetadataBatch
from reference_impl.core.quorum.batches.metadata_records import records_in
from reference_impl.core.quorum.metadata_transactions import Committed, MetadataTransactions
from reference_impl.core.quorum.snapshots.snapshot_file import (
    BOOTSTRAP,
    OF_VOTERS,
    SUFFIX,
    Snapshot,
    SnapshotId,
    UnfinishedSnapshot,
)
from reference_impl.core.quorum.snapshots.snapshots import Snapshots
from reference_impl.core.quorum.voters.voter_set import (
    CONFIGURED,
    VoterHistory,
    Voters,
    version_record,
    voters_record,
)
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.wire import (
    CONTROL_BIT,
    BatchHeader,
    ControlRecordType,
    CorruptRecord,
    Record,
    RecordBatch,
    Struct,
    batches,
    check_crc,
    control_record,
    definition,
    read_header,
)

TOPIC = "__cluster_metadata"
METADATA = (TOPIC, 0)
"""The topic and the partition index of the metadata log."""
TOPIC_ID = UUID(int=1)
"""Uuid.METADATA_TOPIC_ID: reserved, the same in every cluster."""
Listener = Callable[[Committed], None]
_LEADER_CHANGE = definition("LeaderChangeMessage")
LEADER_CHANGE_VERSION = 0
"""The version of the LeaderChange record. Apache Kafka 4.3.1 reads and writes no other, although
version 1 could name directories (ControlRecordUtils.java)."""


class MetadataLog:
    """One node's copy of the metadata log. It keeps the records, and gives its listeners those that
    are committed."""

    def __init__(
        self,
        directory: LogDirectory,
        now_ms: int,
        config: LogConfig | None = None,
        configured: Voters | None = None,
    ) -> None:
        """Open the log in a data directory, and read it from the newest whole snapshot on; nothing
        counts as committed yet but that snapshot. configured: the voters that the configuration
        names. Raise StorageError if the disk fails, and CorruptLog for a log that begins after the
        snapshots or that this version cannot understand."""
        self.log = directory.open_log(TOPIC, 0, TOPIC_ID, config or LogConfig(), now_ms)
        self._directory = directory
        self.snapshots = Snapshots(directory.storage, self.log.directory)
        snapshot = self.snapshots.latest_whole()
        self._begin_at(BOOTSTRAP if snapshot is None else snapshot.id)
        self.voters = VoterHistory(configured or {})
        """The voters in force, by the offsets of this log."""
        if snapshot is not None:
            self.voters.begin_at(snapshot.id.offset, snapshot.composition)
        self._listeners: list[Listener] = []
        self._known = deque(self._read(snapshot, self._learn_voters))
        """The batches that the listeners have not been given yet."""
        self._transactions = MetadataTransactions()
        self.last_committed = Committed((), 0, 0)
        """The newest batch that the listeners have been given."""
        self.bytes_since_snapshot = 0
        """The size of the batches that the listeners were given since the last snapshot."""

    def _begin_at(self, start: SnapshotId) -> None:
        """Let the log go on where the newest snapshot ends (KafkaRaftLog.createLog): drop a log
        that ends before it, and raise CorruptLog if the log begins only after it. Set the high
        watermark to the snapshot's end."""
        if self.log.log_start_offset > start.offset:
            raise CorruptLog(
                self.log.directory,
                f"the log begins at offset {self.log.log_start_offset}, and no whole snapshot"
                f" holds what came before; restore a {SUFFIX} file of that offset or a later one"
                " from a copy, or let the node begin with an empty directory",
            )
        if self.log.log_end_offset < start.offset:
            self._drop_log(start)
        # Begin at the end of the snapshot, which is committed. (So is everything below the
        # checkpoint's high watermark. But a node must serve nothing before its leader, which may
        # have written more, has named its own.)
        self.log.high_watermark = start.offset

    def _drop_log(self, start: SnapshotId) -> None:
        self.log.truncate_fully_and_start_at(start.offset)
        self._directory.checkpoint()

    @property
    def start_offset(self) -> int:
        """Return the offset of the first record that is still in the log, and not only in a
        snapshot."""
        return self.log.log_start_offset

    @property
    def end_offset(self) -> int:
        """Return the offset after the last record of the log, committed or not."""
        return self.log.log_end_offset

    @property
    def last_epoch(self) -> int:
        """Return the epoch of the last batch, or of the snapshot that has replaced it, or 0 if
        there is neither."""
        newest = self.snapshots.latest
        if newest is not None and self.start_offset == self.end_offset == newest.offset:
            return newest.epoch  # the whole log was deleted: its snapshot has the epoch
        return self.log.latest_epoch or 0

    @property
    def end(self) -> LogEnd:
        """Return the end of the log as votes compare it: the last epoch and the end offset."""
        return self.last_epoch, self.end_offset

    @property
    def high_watermark(self) -> int:
        """Return the offset after the last committed record."""
        return self.log.high_watermark

    @property
    def is_in_transaction(self) -> bool:
        """Return whether the committed part of the log ends within a metadata transaction, whose
        records do not count yet."""
        return self._transactions.is_open

    def listen(self, listener: Listener) -> None:
        """Add a listener, which is given every batch that is committed from now on."""
        self._listeners.append(listener)

    # --- writing ------------------------------------------------------------------------------

    def append(self, batch: MetadataBatch, epoch: int, now_ms: int) -> int:
        """Append one batch as the leader of this epoch, all of it or nothing, sync it, and return
        the offset after it. Raise StorageError if the disk fails."""
        encoded = RecordBatch(list(batch.encoded), base_timestamp=batch.timestamp_ms)
        self._append(encoded, batch.records, epoch, now_ms)
        return self.end_offset

    def begin_epoch(self, leader: int, granting: Sequence[int], epoch: int, now_ms: int) -> None:
        """Append the LeaderChange record, the first of each epoch. If only the formatting of this
        directory names the voters so far, add their records, from which the other nodes learn them
        (KIP-853; LeaderState.appendStartOfEpochControlRecords). Raise StorageError if the disk
        fails."""
        of, composition = _LEADER_CHANGE, self.voters.latest
        message = of.new(
            leader_id=leader,
            voters=[of.struct("Voter", voter_id=voter) for voter in composition.voters],
            granting_voters=[of.struct("Voter", voter_id=voter) for voter in granting],
        )
        value = of.encode(message, LEADER_CHANGE_VERSION)
        records = [control_record(ControlRecordType.LEADER_CHANGE, value)]
        if composition.kraft_version > 0 and composition.offset == CONFIGURED:
            records += composition.control_records()
        self._append_controls(records, epoch, now_ms)

    def append_voters(self, voters: Voters, epoch: int, now_ms: int, level: int = 1) -> int:
        """Append the record of new voters, in force from here on, after that of a new level of
        kraft.version. Return the offset after them. Raise StorageError if the disk fails."""
        records = [voters_record(voters)]
        if level != self.voters.latest.kraft_version:
            records.insert(0, version_record(level))
        self._append_controls(records, epoch, now_ms)
        return self.end_offset

    def _append_controls(self, records: Sequence[Record], epoch: int, now_ms: int) -> None:
        batch = RecordBatch(list(records), attributes=CONTROL_BIT, base_timestamp=now_ms)
        offset = self.end_offset
        self._append(batch, (), epoch, now_ms)
        self._learn_voters(batch, offset)

    def _learn_voters(self, batch: RecordBatch, base_offset: int) -> None:
        """Apply the records of a batch that change the voters (KRaftVersion, Voters); ignore other
        records. Raise Malformed for a version that this node does not support."""
        if batch.is_control:
            for place, record in enumerate(batch.records):
                self.voters.learn(base_offset + place, record)

    def _append(
        self, batch: RecordBatch, records: Sequence[Struct], epoch: int, now_ms: int
    ) -> None:
        data = bytearray(batch.encode())
        self.log.append(data, read_header(data), epoch, now_ms)
        self.log.flush()
        self._known.append(of_batch(records, read_header(data)))

    def append_fetched(self, data: bytes, now_ms: int) -> None:
        """Append the batches that the leader has sent, and sync them: the next fetch tells the
        leader that they are here. Raise CorruptRecord for a batch that arrived damaged or does not
        follow, CorruptLog for one that this version cannot understand, and StorageError if the disk
        fails."""
        for header, start, end in batches(data):
            check_crc(data, start, end)
            if header.base_offset != self.end_offset:
                reason = f"the leader has sent offset {header.base_offset}, not {self.end_offset}"
                raise CorruptRecord(reason, "base_offset", "metadata batch")
            with replaying(self.log.directory, header.base_offset):
                batch = RecordBatch.decode(data[start:end])[0]
                committed = of_batch(records_in(batch, CONTROLS), header)
            epoch = header.partition_leader_epoch
            self.log.append(bytearray(data[start:end]), header, epoch, now_ms)
            self._known.append(committed)
            with replaying(self.log.directory, header.base_offset):
                self._learn_voters(batch, header.base_offset)
        self.log.flush()

    def truncate(self, end_offset: int) -> None:
        """Cut off the records from this offset on, which the leader's log lacks, and go back to the
        voters before them. Raise CorruptLog if one of them is committed, since every leader has
        those, and StorageError if the disk fails."""
        if end_offset < self.high_watermark:
            raise CorruptLog(
                self.log.directory,
                f"the leader's log ends at offset {end_offset}, but everything below"
                f" {self.high_watermark} is committed: one of the two has lost data; compare the"
                " logs of the voters, and restore the shorter one from a copy",
            )
        self.log.truncate_to(end_offset)
        self._directory.checkpoint()
        self.voters.truncate(self.end_offset)
        while self._known and self._known[-1].end_offset > self.end_offset:
            self._known.pop()

    # --- reading ------------------------------------------------------------------------------

    def commit(self, end_offset: int) -> None:
        """Raise the high watermark to this offset, and give the listeners every batch below it; do
        nothing for an offset that is committed. Raise CorruptLog for transactions that overlap, and
        for a record whose meaning this version does not know."""
        for _ in self.commit_in_slices(end_offset):
            pass

    def commit_in_slices(self, end_offset: int) -> Iterator[None]:
        """Do what `commit` does, and yield after each batch, so that the caller can let others
        run."""
        if end_offset > self.high_watermark:
            self.log.high_watermark = end_offset
        while self._known and self._known[0].end_offset <= self.high_watermark:
            batch = self._known.popleft()
            with replaying(self.log.directory, batch.base_offset):
                batch = self.last_committed = self._transactions.take(batch)
                self.bytes_since_snapshot += batch.size_bytes
                for listener in self._listeners:
                    listener(batch)
            yield

    def end_of_epoch(self, epoch: int) -> LogEnd:
        """Return the newest epoch in this log that is not above the given one, and its end offset.
        Return the end of the whole log if there is no such epoch
        (KafkaRaftLog.endOffsetForEpoch)."""
        if epoch > self.last_epoch:
            return self.end
        found = self.log.end_offset_for_epoch(epoch)
        earliest = self.snapshots.earliest
        if earliest is not None and found == (epoch, earliest.offset):
            # The snapshot has only the epoch of its last record, not those before.
            return earliest.epoch, earliest.offset
        return found if found[0] >= 0 else self.end

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return whole batches from this offset on, up to max_bytes but at least one, or b"" at the
        log's end. Raise OffsetOutOfRange for an offset outside the log."""
        return self.log.read(offset, max_bytes).records

    def history(self) -> Iterator[Committed]:
        """Yield all committed records from the newest snapshot on, for a listener that must drop
        uncommitted ones which it has applied."""
        transactions = MetadataTransactions()
        for batch in self._read(self.snapshots.latest_whole()):
            if batch.end_offset > self.high_watermark:
                return
            yield transactions.take(batch)

    def _read(
        self, snapshot: Snapshot | None, learn: Callable[[RecordBatch, int], None] | None = None
    ) -> Iterator[Committed]:
        """Yield the content of a snapshot (not of the one with which a cluster begins), then the
        batches of the log after it, committed or not. learn: called with each batch and its
        offset."""
        if snapshot is not None and snapshot.id != BOOTSTRAP:
            yield of_snapshot(snapshot)
        for data in self.log.batches(0 if snapshot is None else snapshot.id.offset):
            header = read_header(data)
            with replaying(self.log.directory, header.base_offset):
                batch = RecordBatch.decode(data)[0]
                records = records_in(batch, CONTROLS)
                if learn is not None:
                    learn(batch, header.base_offset)
            yield of_batch(records, header)

    # --- snapshots ----------------------------------------------------------------------------

    def begin_snapshot(self) -> UnfinishedSnapshot | None:
        """Create the file of a snapshot of all that the listeners have been given, which the caller
        must write, and reset `bytes_since_snapshot`. Return None if there is such a snapshot
        already, or if a transaction is open at that offset. Raise StorageError if the disk
        fails."""
        last = self.last_committed
        id = SnapshotId(last.end_offset, last.epoch)
        if self.is_in_transaction or id <= (self.snapshots.latest or SnapshotId(0, 0)):
            return None
        self.bytes_since_snapshot = 0
        return self.snapshots.create(id)

    def load(self, snapshot: Snapshot) -> None:
        """Begin again where a fetched snapshot ends: drop the log, and give the listeners what the
        snapshot holds. Raise CorruptLog if it lacks committed records, StorageError if the disk
        fails."""
        if snapshot.id.offset < self.high_watermark:
            raise CorruptLog(
                self.log.directory,
                f"the leader's snapshot ends at offset {snapshot.id.offset}, but everything below"
                f" {self.high_watermark} is committed: one of the two has lost data; compare the"
                " logs of the voters, and restore the shorter one from a copy",
            )
        self._drop_log(snapshot.id)
        self.voters.begin_at(snapshot.id.offset, snapshot.composition)
        self._known = deque((of_snapshot(snapshot),))
        self.commit(snapshot.id.offset)

    def clean(self, now_ms: int, bytes_max: int, age_max_ms: int) -> None:
        """Delete the oldest snapshot, and the log before the next one, while all snapshots and the
        log are larger than bytes_max together, or the oldest snapshot is older than age_max_ms; -1
        sets no limit. The newest snapshot stays (KafkaRaftLog.maybeClean). Raise StorageError if
        the disk fails."""
        snapshots = self.snapshots
        while (following := snapshots.second) is not None:
            size_bytes = self.log.size_bytes + snapshots.size_bytes
            is_too_large = 0 <= bytes_max < size_bytes
            if not is_too_large and not 0 <= age_max_ms < now_ms - snapshots.oldest_ms:
                return
            self.log.delete_records_before(following.offset)
            self._directory.checkpoint()
            snapshots.delete_before(following)


CONTROLS = (ControlRecordType.LEADER_CHANGE, *OF_VOTERS)
"""The control records of the log. None changes the metadata of the cluster."""


def of_batch(records: Sequence[Struct], header: BatchHeader) -> Committed:
    """Return the records of a batch as the listeners get them."""
    return Committed(
        records,
        header.base_offset,
        header.last_offset + 1,
        header.partition_leader_epoch,
        header.max_timestamp,
        header.size,
    )


def of_snapshot(snapshot: Snapshot) -> Committed:
    """Return the content of a snapshot as the batch that listeners receive."""
    id, written_ms = snapshot.id, snapshot.last_timestamp_ms
    return Committed(snapshot.records, 0, id.offset, id.epoch, written_ms, is_snapshot=True)


def log_config(config: BrokerConfig) -> LogConfig:
    """Return the configuration of the metadata log's segments. It sets no retention:
    `MetadataLog.clean` deletes old records together with old snapshots."""
    internal = config.text("internal.metadata.log.segment.bytes")
    return LogConfig(
        segment_bytes=config.number("metadata.log.segment.bytes"),
        segment_ms=config.number("metadata.log.segment.ms"),
        internal_segment_bytes=int(internal) if internal else None,
    )
