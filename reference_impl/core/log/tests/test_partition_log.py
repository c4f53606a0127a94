"""The facade: append, roll, read, look up by time; on a disk in memory."""

import pytest

from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import OffsetOutOfRange
from reference_impl.core.log.tests.helpers import (
    DIRECTORY,
    ONE,
    append,
    batch,
    filled,
    header_of,
    open_log,
    small_segments,
    values,
)
from reference_impl.core.partitions.batch_validation import drained
from reference_impl.core.storage import MemoryStorage, StorageError
from reference_impl.core.tests.counting import counted
from reference_impl.wire.batches.batch_header import LOG_APPEND_TIME_BIT, TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import Compression, RecordBatch, batches, check_crc

FILES = (".log", ".index", ".timeindex", ".snapshot")


# -- appending ---------------------------------------------------------------------------------


def test_offsets_start_at_zero_and_are_dense(storage: MemoryStorage) -> None:
    log = open_log(storage)
    first = append(log, batch(b"a", b"b"))
    second = append(log, batch(b"c"))
    assert (first.base_offset, first.last_offset) == (0, 1)
    assert (second.base_offset, second.last_offset, log.log_end_offset) == (2, 2, 3)


def test_a_batch_gets_offset_and_epoch_and_keeps_its_crc(storage: MemoryStorage) -> None:
    log = open_log(storage)
    append(log, batch(b"a"), leader_epoch=3)
    append(log, batch(b"b", partition_leader_epoch=99, base_offset=1234), leader_epoch=4)
    data = log.read(1, 1000).records
    check_crc(data, 0, len(data))
    assert (header_of(data).base_offset, header_of(data).partition_leader_epoch) == (1, 4)
    assert log.leader_epochs.entries == [(3, 0), (4, 1)]


def test_the_answer_carries_the_time_which_the_broker_stamped(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(message_timestamp_type="LogAppendTime"))
    stamped = batch(b"a", timestamp_ms=555, attributes=LOG_APPEND_TIME_BIT)
    assert append(log, stamped).log_append_time_ms == 555
    assert append(open_log(MemoryStorage()), batch(b"a")).log_append_time_ms == -1


def test_a_full_disk_leaves_the_log_as_it_was(storage: MemoryStorage) -> None:
    log = filled(storage, 3)
    storage.capacity_bytes = sum(len(storage.read_file(p)) for p in storage.paths()) + 50
    with pytest.raises(StorageError, match="no space left") as caught:
        append(log, batch(b"does not fit" * 9))
    assert caught.value.no_space
    assert (log.log_end_offset, values(log)) == (3, [b"0", b"1", b"2"])
    storage.capacity_bytes = None
    assert append(log, batch(b"3")).base_offset == 3
    assert values(open_log(storage)) == [b"0", b"1", b"2", b"3"]


def test_a_disk_that_fills_up_at_the_index_leaves_the_log_as_it_was(storage: MemoryStorage) -> None:
    log = filled(storage, 2, LogConfig(index_interval_bytes=0))
    size = len(batch(b"x"))
    used = sum(len(storage.read_file(p)) for p in storage.paths())
    storage.capacity_bytes = used + size + 8  # the batch and its offset entry, not its time entry
    with pytest.raises(StorageError, match=r"\.timeindex"):
        append(log, batch(b"x"))
    storage.capacity_bytes = None
    assert drained(log.offset_for_timestamp(1000)) is None
    assert append(log, batch(b"2", timestamp_ms=2)).base_offset == 2
    assert values(open_log(storage)) == [b"0", b"1", b"2"]


def test_control_records_take_offsets(storage: MemoryStorage) -> None:
    log = filled(storage, 1)
    data = end_txn_marker(ControlRecordType.ABORT, producer_id=1, producer_epoch=0).encode()
    assert append(log, bytearray(data)).base_offset == 1
    assert RecordBatch.decode(log.read(1, 1000).records)[0].is_control


# -- rolling -----------------------------------------------------------------------------------


def test_a_segment_closes_before_the_append_that_does_not_fit(storage: MemoryStorage) -> None:
    log = filled(storage, 7, small_segments(3 * ONE))
    assert log.segment_base_offsets == [0, 3, 6]
    assert {
        name for name in storage.list(DIRECTORY) if name.startswith("00000000000000000003")
    } == {f"00000000000000000003{suffix}" for suffix in FILES}


def test_a_segment_closes_by_the_time_in_its_records(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(segment_ms=100))
    for timestamp in (1000, 1100, 1101):
        append(log, batch(b"x", timestamp_ms=timestamp))
    assert log.segment_base_offsets == [0, 2]


def test_without_timestamps_a_segment_closes_by_the_clock(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(segment_ms=100))
    for now_ms in (50, 100, 101):
        append(log, batch(b"x", timestamp_ms=-1), now_ms=now_ms)
    assert log.segment_base_offsets == [0, 2]


def test_a_segment_closes_when_its_index_is_full(storage: MemoryStorage) -> None:
    config = LogConfig(index_interval_bytes=0, segment_index_bytes=24)
    log = filled(storage, 6, config)
    # Two places in the time index, one of them kept for closing; the first batch gets no entry.
    assert log.segment_base_offsets == [0, 2, 4]


def test_a_closed_segment_is_synced_and_its_time_index_ends_with_the_newest(
    storage: MemoryStorage,
) -> None:
    log = filled(storage, 4, small_segments(3 * ONE))
    assert log.recovery_point == 3
    last = storage.read_file(f"{DIRECTORY}/00000000000000000000.timeindex")[-12:]
    assert last == (2).to_bytes(8, "big") + (2).to_bytes(4, "big")


def test_jitter_makes_partitions_roll_early_and_at_different_times(storage: MemoryStorage) -> None:
    config = LogConfig(segment_ms=1000, segment_jitter_ms=900)
    rolled_at = []
    for partition in range(5):
        log = open_log(storage, config, data_directory=f"data{partition}")
        append(log, batch(b"x", timestamp_ms=0))
        for timestamp in range(1, 1002):
            append(log, batch(b"x", timestamp_ms=timestamp))
            if len(log.segment_base_offsets) > 1:
                rolled_at.append(timestamp)
                break
    assert len(rolled_at) == 5
    assert len(set(rolled_at)) > 1
    assert all(100 < timestamp <= 1001 for timestamp in rolled_at)


def test_a_new_segment_does_not_take_over_files_that_were_left_behind(
    storage: MemoryStorage,
) -> None:
    log = filled(storage, 3, small_segments(3 * ONE))
    storage.open(f"{DIRECTORY}/{3:020d}.log", create=True).append(batch(b"stale") + b"junk")
    append(log, batch(b"3"))
    assert values(log) == [b"0", b"1", b"2", b"3"]


# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bytes", [1, ONE, 3 * ONE + 5, 10_000])
@pytest.mark.parametrize("index_interval_bytes", [0, 200, 4096])
def test_whole_batches_within_the_bytes_asked_for(
    storage: MemoryStorage, max_bytes: int, index_interval_bytes: int
) -> None:
    log = filled(storage, 30, LogConfig(index_interval_bytes=index_interval_bytes))
    for offset in range(30):
        data = log.read(offset, max_bytes).records
        found = [header for header, _, _ in batches(data)]
        assert found[0].base_offset == offset
        assert len(data) <= max(max_bytes, found[0].size)
        following = log.read(found[-1].last_offset + 1, 10_000).records
        assert not following or len(data) + header_of(following).size > max_bytes


def test_a_read_begins_with_the_batch_that_contains_the_offset(storage: MemoryStorage) -> None:
    log = open_log(storage)
    append(log, batch(b"a", b"b", b"c"))
    assert log.read(2, 1000).first_offset == 0


def test_a_first_batch_too_large_comes_whole_or_not_at_all(storage: MemoryStorage) -> None:
    log = filled(storage, 2)
    assert len(log.read(0, 10).records) == ONE
    assert log.read(0, 10, at_least_one=False).records == b""


def test_nothing_at_or_past_the_limit_is_read(storage: MemoryStorage) -> None:
    log = filled(storage, 9, small_segments(3 * ONE))
    for limit in range(10):
        read, offset = [], 0
        while data := log.read(offset, 10_000, limit).records:
            read += [header.base_offset for header, _, _ in batches(data)]
            offset = read[-1] + 1
        assert read == list(range(limit))


def test_a_read_outside_the_log_is_refused_and_at_its_end_is_empty(storage: MemoryStorage) -> None:
    log = filled(storage, 3)
    assert log.read(3, 1000).records == b""
    for offset in (-1, 4):
        with pytest.raises(OffsetOutOfRange, match=f"offset {offset}"):
            log.read(offset, 1000)


def test_a_batch_altered_on_disk_is_not_passed_off_as_the_end(storage: MemoryStorage) -> None:
    log = filled(storage, 3)
    storage.corrupt(f"{DIRECTORY}/{0:020d}.log", 8, b"\xff\xff\xff\xff")
    with pytest.raises(CorruptLog, match="corrupt at byte 0"):
        log.read(0, 1000)


def test_a_record_altered_on_disk_is_not_looked_up(storage: MemoryStorage) -> None:
    log = filled(storage, 3)
    storage.corrupt(f"{DIRECTORY}/{0:020d}.log", 2 * ONE - 1, b"\xff")
    with pytest.raises(CorruptLog, match=f"corrupt at byte {ONE}: crc"):
        drained(log.offset_for_timestamp(1))


def test_replay_gives_every_batch_from_the_one_with_the_offset(storage: MemoryStorage) -> None:
    log = filled(storage, 9, small_segments(3 * ONE))
    assert [header_of(bytes(data)).base_offset for data in log.batches(4)] == [4, 5, 6, 7, 8]


# -- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Compression)
def test_a_timestamp_finds_the_first_record_not_older(
    storage: MemoryStorage, codec: Compression
) -> None:
    log = open_log(storage, small_segments(400))
    for start in (0, 10, 20, 30, 40):
        append(log, batch(b"a", b"b", b"c", timestamp_ms=start, attributes=codec), leader_epoch=6)
    assert len(log.segment_base_offsets) > 1
    assert drained(log.offset_for_timestamp(0)) == (0, 0, 6)
    assert drained(log.offset_for_timestamp(21)) == (21, 7, 6)
    assert drained(log.offset_for_timestamp(23)) == (30, 9, 6)
    assert drained(log.offset_for_timestamp(43)) is None


def test_time_that_goes_back_is_found_where_it_was_first_reached(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(index_interval_bytes=0))
    for timestamp in (100, 50, 300, 200, 300):
        append(log, batch(b"x", timestamp_ms=timestamp))
    assert drained(log.offset_for_timestamp(51)) == (100, 0, 0)
    assert drained(log.offset_for_timestamp(150)) == (300, 2, 0)
    assert drained(log.offset_of_max_timestamp()) == (300, 2, 0)


def test_a_log_append_time_batch_has_one_time_for_all(storage: MemoryStorage) -> None:
    log = open_log(storage)
    append(log, batch(b"a", b"b", attributes=LOG_APPEND_TIME_BIT, max_timestamp=7000))
    assert drained(log.offset_for_timestamp(6999)) == (7000, 0, 0)


def test_an_empty_log_has_no_time(storage: MemoryStorage) -> None:
    log = open_log(storage)
    assert drained(log.offset_for_timestamp(0)) is None
    assert drained(log.offset_of_max_timestamp()) is None


# -- watermarks --------------------------------------------------------------------------------


def test_an_append_does_not_move_the_high_watermark(storage: MemoryStorage) -> None:
    log = open_log(storage)
    data = batch(b"a")
    log.append(data, header_of(data), 0, 0)
    assert log.high_watermark == 0
    log.high_watermark = 99
    assert log.high_watermark == 1, "it never passes the log end"


def test_the_last_stable_offset_stands_at_an_open_transaction(storage: MemoryStorage) -> None:
    log = filled(storage, 2)
    ids = {"producer_id": 1, "producer_epoch": 0}
    append(log, batch(b"t", attributes=TRANSACTIONAL_BIT, base_sequence=0, **ids))
    append(log, batch(b"3"))
    assert (log.high_watermark, log.last_stable_offset) == (4, 2)
    append(log, bytearray(end_txn_marker(ControlRecordType.COMMIT, **ids).encode()))
    assert log.last_stable_offset == 5


def test_a_new_segment_costs_the_same_however_many_there_are(storage: MemoryStorage) -> None:
    """It listed the directory, so ten thousand small segments took minutes."""
    log = open_log(storage)
    costs = []
    for _ in range(60):
        append(log, batch(b"a"))
        costs.append(counted(log.roll)[1])
    assert costs[-1] <= 1.1 * costs[5]
    # Snapshots whose segments are gone go with the next segment.
    log.high_watermark = log.log_end_offset
    log.delete_records_before(50)
    append(log, batch(b"a"))
    log.roll()
    snapshots = [path for path in storage.paths() if path.endswith(".snapshot")]
    assert len(snapshots) == len(log.segment_base_offsets)
