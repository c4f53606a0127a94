"""Apache Kafka's own classes as oracle: its LogSegment writes the same bytes, its dump tool agrees.

One JVM for all: `LogOracle.java` appends our batches to Kafka's LogSegment, and runs
DumpLogSegments over our files.
"""

import re
from pathlib import Path
from random import Random

import pytest

from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.helpers import append, batch, open_log, values
from reference_impl.core.partitions.batch_validation import drained
from reference_impl.host.disk import Disk
from reference_impl.wire.batches.batch_header import TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import Compression
from reference_impl.wire.tests.java_oracle import launch

pytestmark = pytest.mark.needs("java", "kafka-jars")

CONFIG = LogConfig(internal_segment_bytes=30_000, index_interval_bytes=1000)
BATCHES = 300
PRODUCER, PEER = 4000, 4001


class Oracle:
    """Our directory, the one that Java wrote from it, and what DumpLogSegments printed."""

    def __init__(self, root: Path) -> None:
        self.ours = root / "ours" / "orders-0"
        self.theirs = root / "theirs" / "orders-0"
        self.log = write_log(str(root / "ours"))
        self.theirs.mkdir(parents=True)
        source = Path(__file__).parent / "java" / "LogOracle.java"
        interval = str(CONFIG.index_interval_bytes)
        self.dump = launch(source, "4.3.1", str(self.ours), str(self.theirs), interval)


def write_log(data_directory: str) -> PartitionLog:
    """Write a log with every codec, two producers, a transaction, time that jumps, and three
    epochs."""
    random = Random("log-oracle")
    log = open_log(Disk(), CONFIG, data_directory=data_directory)
    sequence, clock_ms = 0, 1_700_000_000_000
    for number in range(BATCHES):
        clock_ms += random.randrange(-50, 200)
        count = random.randrange(1, 6)
        data = batch(
            *[random.randbytes(random.choice((3, 40, 900))) for _ in range(count)],
            timestamp_ms=clock_ms,
            attributes=random.choice(list(Compression)),
            producer_id=PRODUCER,
            producer_epoch=2,
            base_sequence=sequence,
        )
        append(log, data, leader_epoch=number // 100)
        sequence += count
    ids = {"producer_id": PEER, "producer_epoch": 7}
    open_ended = {"attributes": TRANSACTIONAL_BIT, "timestamp_ms": clock_ms, **ids}
    append(log, batch(b"aborted", base_sequence=0, **open_ended), leader_epoch=2)
    marker = end_txn_marker(
        ControlRecordType.ABORT, coordinator_epoch=9, timestamp_ms=clock_ms, **ids
    )
    append(log, bytearray(marker.encode()), leader_epoch=2)
    append(log, batch(b"open", base_sequence=1, **open_ended), leader_epoch=2)
    log.close(clean=True)
    return log


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle(tmp_path_factory.mktemp("oracle"))


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_javas_segments_have_the_same_bytes_as_ours(oracle: Oracle, suffix: str) -> None:
    ours = {path.name: path.read_bytes() for path in oracle.ours.glob(f"*{suffix}")}
    theirs = {path.name: path.read_bytes() for path in oracle.theirs.glob(f"*{suffix}")}
    assert len(ours) > 3
    assert sum(len(content) for content in ours.values()) > 100
    assert theirs == ours


def test_the_dump_tool_finds_every_record_and_no_mismatch(oracle: Oracle) -> None:
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", oracle.dump, re.M)]
    assert offsets == list(range(oracle.log.log_end_offset))
    bases = [int(found) for found in re.findall(r"^baseOffset: (\d+)", oracle.dump, re.M)]
    assert len(bases) == BATCHES + 3
    assert not re.findall(
        r"(?i)mismatch|corrupt|isvalid: false|out of order|not found", oracle.dump
    )
    assert "endTxnMarker: ABORT coordinatorEpoch: 9" in oracle.dump


def test_the_dump_tool_reads_the_producer_snapshot(oracle: Oracle) -> None:
    last = oracle.dump[oracle.dump.rindex("Dumping") :]
    rows = sorted(
        re.findall(r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+)", last)
    )
    assert rows == [(str(PRODUCER), "2", "-1"), (str(PEER), "7", "9")]
    open_at = oracle.log.log_end_offset - 1
    assert f"currentTxnFirstOffset: Optional[{open_at}]" in last.replace("OptionalLong", "Optional")


def test_the_dump_tool_reads_the_transaction_index(oracle: Oracle) -> None:
    marker = oracle.log.log_end_offset - 2
    entry = (
        f"producerId: {PEER} firstOffset: {marker - 1} lastOffset: {marker}"
        f" lastStableOffset: {marker + 1}"
    )
    assert oracle.dump.count("firstOffset: ") == oracle.dump.count(entry) == 1


@pytest.mark.parametrize("clean_shutdown", [True, False])
def test_we_read_the_log_that_java_wrote(oracle: Oracle, clean_shutdown: bool) -> None:
    theirs = open_log(
        Disk(), CONFIG, data_directory=str(oracle.theirs.parent), clean_shutdown=clean_shutdown
    )
    ours = open_log(
        Disk(), CONFIG, data_directory=str(oracle.ours.parent), clean_shutdown=clean_shutdown
    )
    assert theirs.recovery_notes == ()
    assert theirs.log_end_offset == ours.log_end_offset == oracle.log.log_end_offset
    assert values(theirs) == values(ours)
    assert drained(theirs.offset_of_max_timestamp()) == drained(ours.offset_of_max_timestamp())
    # LogSegment alone writes no epoch file; recovery finds the epochs in the batches.
    assert theirs.leader_epochs.entries == ([] if clean_shutdown else ours.leader_epochs.entries)
    assert theirs.last_stable_offset == ours.last_stable_offset
