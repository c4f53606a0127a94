"""The data directory of an Apache Kafka that was killed, read by our own log."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from chaos.targets.apache import ApacheKafka
from conformance.cases.offsets.offsets import commit
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.target.examination import advertised_versions
from conformance.wire import Wire, batch
from reference_impl.core.controller.features import METADATA, SUPPORTED, check_levels
from reference_impl.core.controller.image.image_records import records_of
from reference_impl.core.controller.image.metadata_delta import MetadataDelta
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.log.directories.checkpoints import read_topic_id
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.helpers import RULES
from reference_impl.core.partitions.batch_validation import drained
from reference_impl.core.quorum.batches.metadata_records import records_in
from reference_impl.core.quorum.metadata_log import CONTROLS, MetadataLog
from reference_impl.host.disk import Disk
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Compression, RecordBatch, Struct, decode_record, read_header

GROUP = "readers"
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}
INTERNAL = {
    "__consumer_offsets": "group-coordinator",
    "__transaction_state": "transaction-coordinator",
}


class Written:
    """The data written to Apache Kafka, its answers, and a copy of its files."""

    def __init__(self, root: Path) -> None:
        cluster = ApacheKafka().start(root / "apache", config=SNAPSHOTS)
        try:
            wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))
            self._write(wire)
            wire.close()
        finally:
            cluster.stop()  # SIGKILL
        self.data = root / "copy"
        shutil.copytree(root / "apache" / "data" / "1", self.data)
        self.directory = LogDirectory(Disk(), str(self.data), RULES)

    def _write(self, wire: Wire) -> None:
        self.plain = wire.create_topic(config={"segment.ms": "60000"})
        for number, codec in enumerate(Compression):
            at_ms = 1_700_000_000_000 + number * 3_600_000  # a segment each
            sent = batch(
                b"%d" % number,
                b"x" * 500,
                base_timestamp=at_ms,
                max_timestamp=at_ms,
                attributes=int(codec),
                producer_id=99,
                producer_epoch=1,
                base_sequence=2 * number,
            )
            assert wire.produce(self.plain, sent.encode()).error_code == 0
        self.in_transactions = wire.create_topic()
        self.producer, open_one = Producer.ready(wire), Producer.ready(wire)
        for value, is_kept in ((b"kept", True), (b"dropped", False), (b"kept too", True)):
            self.producer.add_and_send(self.in_transactions, value)
            self.producer.end(is_kept)
            wait_until_ended(wire, self.in_transactions)
        open_one.add_and_send(self.in_transactions, b"open")
        commit(wire, GROUP, self.plain, {0: 7})
        self.committed = committed_values(wire, self.in_transactions)
        self.answers = {
            topic: wire.fetch(topic, 0, isolation_level=1)
            for topic in (self.plain, self.in_transactions)
        }

    def open(self, name: str, partition: int = 0) -> PartitionLog:
        """Open with our log the files that they wrote."""
        topic_id = read_topic_id(Disk(), str(self.data / f"{name}-{partition}"))
        assert topic_id is not None
        return self.directory.open_log(name, partition, topic_id, LogConfig(), 0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("kafka"))


pytestmark = pytest.mark.needs("java", "kafka-jars")


def test_every_partition_opens_and_ends_where_it_did(written: Written) -> None:
    for topic, answer in written.answers.items():
        log = written.open(topic.name)
        assert log.recovery_notes == ()
        assert log.topic_id == topic.id
        assert (log.log_start_offset, log.log_end_offset) == (0, answer.high_watermark)
        log.high_watermark = log.log_end_offset
        assert log.last_stable_offset == answer.last_stable_offset


def test_the_bytes_are_those_that_kafka_sends(written: Written) -> None:
    log = written.open(written.plain.name)
    read = b"".join(bytes(data) for data in log.batches())
    assert read.startswith(bytes(written.answers[written.plain].records))
    values = [r.value for data in log.batches() for r in RecordBatch.decode(data)[0].records]
    assert values[::2] == [b"%d" % number for number in range(len(Compression))]
    assert len(log.segment_base_offsets) == len(Compression)
    assert drained(log.offset_for_timestamp(1_700_000_000_001)) == (
        1_700_003_600_000,
        2,
        log.latest_epoch,
    )


def test_producers_and_transactions_are_known(written: Written) -> None:
    producers = {
        e.producer_id: e for e in written.open(written.plain.name).producer_state.entries()
    }
    assert (producers[99].producer_epoch, producers[99].last_sequence) == (1, 9)
    log = written.open(written.in_transactions.name)
    (aborted,) = log.aborted_transactions(0, log.log_end_offset)
    assert (aborted.producer_id, aborted.first_offset) == (written.producer.producer_id, 2)
    starts = [each.current_txn_first_offset for each in log.producer_state.entries()]
    log.high_watermark = log.log_end_offset
    assert [start for start in starts if start is not None] == [log.last_stable_offset]
    values = [
        record.value
        for data in log.batches()
        if not read_header(data).is_control
        for record in RecordBatch.decode(data)[0].records
    ]
    assert values == [b"kept", b"dropped", b"kept too", b"open"]
    assert written.committed == [b"kept", b"kept too"]


def test_the_metadata_are_understood(written: Written) -> None:
    metadata = MetadataLog(written.directory, 0)
    delta = MetadataDelta(MetadataImage())
    metadata.listen(lambda committed: delta.apply(committed.records, committed.end_offset))
    metadata.commit(metadata.end_offset)
    image = delta.image
    check_levels(image.features, str(written.data))
    assert image.features[METADATA] == SUPPORTED[METADATA][1]
    assert image.topics[written.plain.name].configs == {
        "segment.ms": "60000",
        "message.timestamp.after.max.ms": str((1 << 63) - 1),
    }
    for topic in (written.plain, written.in_transactions):
        assert image.topics[topic.name].topic_id == topic.id
    assert image.topics.keys() >= INTERNAL.keys()
    assert image.next_producer_id > 0
    assert image.end_offset == metadata.end_offset


def test_a_snapshot_says_what_the_log_before_it_says(written: Written) -> None:
    log = MetadataLog(written.directory, 0)
    snapshot = log.snapshots.latest_whole()
    assert snapshot is not None
    by_snapshot, by_log = (MetadataDelta(MetadataImage()) for _ in range(2))
    by_snapshot.apply(snapshot.records, snapshot.id.offset, is_snapshot=True)
    for data in log.log.batches():
        header = read_header(data)
        if header.base_offset < snapshot.id.offset:
            records = records_in(RecordBatch.decode(data)[0], CONTROLS)
            by_log.apply(records, header.last_offset + 1)
    assert by_log.image.end_offset == snapshot.id.offset
    expected = as_text(records_of(by_log.image))
    assert as_text(records_of(by_snapshot.image)) == expected
    assert as_text(snapshot.records) == expected, "both brokers write the same records"


def test_a_node_starts_over_their_directory(written: Written, tmp_path: Path) -> None:
    """The node starts from Apache Kafka's newest snapshot, and has its topics and records."""
    shutil.copytree(written.data, tmp_path / "data")
    with BrokerProcess(tmp_path / "data") as broker, RawClient(broker) as client:
        answer = client.call(ApiKey.METADATA, 12, topics=None)
        found = {topic.name: topic for topic in answer.topics}
        for topic in written.answers:
            assert found[topic.name].topic_id == topic.id
            assert [p.leader_id for p in found[topic.name].partitions] == [1]
        client.create_topic("ours")
        assert broker.stop() == 0


def as_text(records: Iterable[Struct]) -> list[str]:
    """Return records without their order, and without that of the features in them."""
    found = list(records)
    for record in found:
        if hasattr(record, "features"):
            record.features.sort(key=lambda feature: feature.name)
    return sorted(map(repr, found))


@pytest.mark.parametrize("topic", INTERNAL)
def test_internal_topics_are_understood(written: Written, topic: str) -> None:
    found = []
    for directory in sorted(written.data.glob(f"{topic}-*")):
        log = written.open(topic, int(directory.name.rpartition("-")[2]))
        for data in log.batches():
            for record in RecordBatch.decode(data)[0].records:
                if record.key is not None:
                    key, value = decode_record(record.key, record.value, INTERNAL[topic])
                    found.append((key, value))
    assert found
    if topic == "__transaction_state":
        assert written.producer.transactional_id in {key.transactional_id for key, _ in found}
    else:
        mine = [value for key, value in found if getattr(key, "topic", "") == written.plain.name]
        assert [value.offset for value in mine if value is not None] == [7]
