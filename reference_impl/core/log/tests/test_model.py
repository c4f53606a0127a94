"""The log against a list: any sequence of appends, reads, cuts, kills, losses of power and
restarts.
"""

import shutil
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.helpers import RULES, TOPIC_ID, append, batch, header_of, values
from reference_impl.core.partitions.batch_validation import drained
from reference_impl.core.storage import MemoryStorage, Storage
from reference_impl.host.disk import Disk
from reference_impl.wire.batches.records import Compression

CONFIG = LogConfig(internal_segment_bytes=700, index_interval_bytes=150)
PRODUCER = 9


class LogAgainstList(RuleBasedStateMachine):
    """The model: a list of (value, timestamp, leader epoch) from `start` on, and how many are
    synced.
    """

    storage: Storage
    data = "data"

    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[bytes, int, int]] = []
        self.start = 0
        self.synced = 0
        self.epoch = 0
        self.clock_ms = 1000
        self.sequence = 0
        self.last_sent: bytearray | None = None

    @initialize()
    def first_start(self) -> None:
        self.open()

    def open(self) -> None:
        self.directory = LogDirectory(self.storage, self.data, RULES)
        self.log: PartitionLog = self.directory.open_log("t", 0, TOPIC_ID, CONFIG, self.clock_ms)
        self.log.high_watermark = self.log.log_end_offset

    # -- what clients do -----------------------------------------------------------------------

    @rule(
        count=st.integers(1, 6),
        step_ms=st.integers(-20, 30),
        size=st.sampled_from([1, 10, 90]),
        codec=st.sampled_from([Compression.NONE, Compression.GZIP]),
    )
    def send(self, count: int, step_ms: int, size: int, codec: Compression) -> None:
        self.clock_ms = max(0, self.clock_ms + step_ms)
        sent = [b"%d" % (len(self.records) + n) * size for n in range(count)]
        data = batch(
            *sent,
            timestamp_ms=self.clock_ms,
            attributes=codec,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=self.sequence,
        )
        assert self.log.producer_state.check_sequence(header_of(data)) == 0
        self.last_sent = bytearray(data)
        result = append(self.log, data, leader_epoch=self.epoch)
        assert result.base_offset == len(self.records)
        self.records += [(v, self.clock_ms + n, self.epoch) for n, v in enumerate(sent)]
        self.sequence += count
        self.synced = self.log.recovery_point

    @precondition(lambda self: self.last_sent is not None)
    @rule()
    def retry(self) -> None:
        assert self.last_sent is not None
        found = self.log.producer_state.duplicate_of(header_of(self.last_sent))
        assert found is not None
        assert found.last_offset == len(self.records) - 1

    @rule(back=st.integers(0, 40), max_bytes=st.integers(1, 2000))
    def fetch(self, back: int, max_bytes: int) -> None:
        offset = max(self.start, len(self.records) - back)
        expected: list[bytes | None] = [value for value, _, _ in self.records[offset:]]
        assert values(self.log, offset, max_bytes) == expected

    @rule(ahead_ms=st.integers(-50, 50))
    def look_up_by_time(self, ahead_ms: int) -> None:
        wanted = self.clock_ms + ahead_ms
        expected = next(
            (
                (timestamp, offset, epoch)
                for offset, (_, timestamp, epoch) in enumerate(self.records)
                if timestamp >= wanted and offset >= self.start
            ),
            None,
        )
        assert drained(self.log.offset_for_timestamp(wanted)) == expected

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        offset = self.start + int((len(self.records) - self.start) * share)
        self.start = self.log.delete_records_before(offset)
        self.directory.checkpoint()
        assert self.start == offset

    # -- what leaders and operators do ---------------------------------------------------------

    @rule()
    def change_leader(self) -> None:
        self.epoch += 1

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        self.log.truncate_to(max(self.start, len(self.records) - back))
        self.directory.checkpoint()
        self.cut(self.log.log_end_offset)

    def cut(self, end: int) -> None:
        if end < len(self.records):
            self.last_sent = None
        del self.records[end:]
        self.start = min(self.start, end)
        entry = self.log.producer_state.entry(PRODUCER)
        self.sequence = 0 if entry is None else entry.last_sequence + 1
        self.epoch = max(self.epoch, (self.log.latest_epoch or 0))

    def forget_senders(self) -> None:
        """Forget the sender after an unclean end if DeleteRecords had removed everything: recovery
        reads the log from its start on (LogLoader.java)."""
        if self.log.log_end_offset == self.start:
            self.last_sent = None

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.synced = len(self.records)

    @rule()
    def restart(self) -> None:
        self.directory.close()
        self.open()
        assert self.directory.clean_shutdown
        assert self.log.recovery_notes == ()
        self.synced = len(self.records)

    # -- what must always hold -----------------------------------------------------------------

    @invariant()
    def offsets_agree(self) -> None:
        if hasattr(self, "log"):
            assert self.log.log_end_offset == len(self.records)
            assert self.log.log_start_offset == self.start

    @invariant()
    def epochs_agree(self) -> None:
        if hasattr(self, "log") and len(self.records) > self.start:
            last = self.records[-1][2]
            first = next(n for n, r in enumerate(self.records) if r[2] == last and n >= self.start)
            assert self.log.leader_epochs.entries[-1] == (last, first)


class InMemory(LogAgainstList):
    """Test the log on an in-memory disk that loses unsynced bytes when power is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = MemoryStorage()
        self.storage = self.memory

    @rule(kept=st.floats(0, 1), checkpoint=st.booleans())
    def lose_power(self, kept: float, checkpoint: bool) -> None:
        if checkpoint:
            self.directory.checkpoint()
        self.memory.crash(lambda _, synced, size: synced + int((size - synced) * kept))
        self.open()
        assert self.log.log_end_offset >= min(self.synced, len(self.records))
        self.cut(self.log.log_end_offset)
        self.forget_senders()

    @rule()
    def kill(self) -> None:
        self.memory.kill()
        self.open()
        assert self.log.log_end_offset == len(self.records), "the page cache outlives the process"
        self.forget_senders()


class OnDisk(LogAgainstList):
    """The model test on real files, with fewer descriptors than files."""

    def __init__(self) -> None:
        super().__init__()
        self.data = tempfile.mkdtemp(prefix="touchstone-log-")
        self.storage = Disk(descriptors_max=2)

    @rule()
    def kill(self) -> None:
        self.storage = Disk(descriptors_max=2)
        self.open()
        assert self.log.log_end_offset == len(self.records), "the page cache outlives the process"
        self.forget_senders()

    def teardown(self) -> None:
        shutil.rmtree(self.data)


TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(max_examples=50, stateful_step_count=40)
TestOnDisk = OnDisk.TestCase
TestOnDisk.settings = settings(max_examples=15, stateful_step_count=30)
