"""Write a snapshot of the committed metadata from time to time, and delete old ones.

Source: SnapshotGenerator.java, SnapshotEmitter.java; KIP-630. Every node writes its own, from what
it has applied. The records are noted in one go, since the image goes on changing; they are encoded
and written in slices.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.image_records import records_of
from reference_impl.core.effects import Effect, Report
from reference_impl.core.quorum.snapshots.snapshot_file import BATCH_RECORDS_MAX, UnfinishedSnapshot
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Later, Pause

LOOK_MS = 1_000
"""The interval at which a node checks whether a snapshot is due."""
CLEAN_MS = 60_000
"""The interval at which a node looks for old snapshots
(KafkaRaftClient.RaftMetadataLogCleanerManager)."""


def keep_snapshots(broker: Broker) -> Iterator[Effect]:
    """Run for ever: write a snapshot whenever one is due, and delete old ones then and every
    minute. Report a file that cannot be written, and go on."""
    last_ms = cleaned_ms = broker.monotonic_ms
    while True:
        yield Later(LOOK_MS)
        now_ms = broker.monotonic_ms
        must_write = is_due(broker, now_ms - last_ms)
        if not must_write and now_ms - cleaned_ms < CLEAN_MS:
            continue
        cleaned_ms = now_ms
        try:
            if must_write:
                last_ms = now_ms
                snapshot = broker.quorum.log.begin_snapshot()
                if snapshot is not None:
                    yield from write_whole(broker, snapshot)
            clean(broker)
        except StorageError as error:
            yield Report(f"the snapshot of the metadata and its log stay as they are: {error}")


def clean(broker: Broker) -> None:
    """Delete the snapshots, and the part of the log below them, that metadata.max.retention.bytes
    and metadata.max.retention.ms do not keep. Raise StorageError if the disk fails."""
    limits = (broker.config.number(f"metadata.max.retention.{unit}") for unit in ("bytes", "ms"))
    broker.quorum.log.clean(broker.now_ms, *limits)


def is_due(broker: Broker, waited_ms: int) -> bool:
    """Return whether a snapshot is due: enough bytes were committed since the last one, or any
    were, and metadata.log.max.snapshot.interval.ms has passed and is not 0
    (SnapshotGenerator.publishLogDelta)."""
    size_bytes = broker.quorum.log.bytes_since_snapshot
    interval_ms = broker.config.number("metadata.log.max.snapshot.interval.ms")
    if size_bytes >= broker.config.number("metadata.log.max.record.bytes.between.snapshots"):
        return True
    return size_bytes > 0 and 0 < interval_ms <= waited_ms


def write_whole(broker: Broker, snapshot: UnfinishedSnapshot) -> Iterator[Effect]:
    """Write a snapshot and add it to those of this node. If the disk fails, delete the unfinished
    file and raise StorageError."""
    try:
        yield from write(broker, snapshot)
    except StorageError:
        snapshot.drop()
        raise
    broker.quorum.log.snapshots.finished(snapshot.id)


def write(broker: Broker, snapshot: UnfinishedSnapshot) -> Iterator[Effect]:
    """Write a whole snapshot file, with the records that the metadata image of the broker has now,
    a batch at a time, with a pause after each. Raise StorageError if the disk fails."""
    records = broker.rules.kept_in_snapshot(records_of(broker.image))
    last = broker.quorum.log.last_committed
    composition = broker.quorum.log.voters.before(last.end_offset)
    snapshot.begin(last.timestamp_ms, broker.now_ms, composition)
    for first in range(0, len(records), BATCH_RECORDS_MAX):
        snapshot.add(records[first : first + BATCH_RECORDS_MAX], broker.now_ms)
        yield Pause()
    snapshot.end(broker.now_ms)
