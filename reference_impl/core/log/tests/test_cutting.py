"""A log is cut at either end, moved away and flushed; on a disk in memory."""

import pytest

from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import OffsetOutOfRange
from reference_impl.core.log.tests.helpers import (
    DATA,
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
from reference_impl.core.storage import MemoryStorage


def test_deleted_records_are_out_of_range_and_whole_segments_go(storage: MemoryStorage) -> None:
    log = filled(storage, 9, small_segments(3 * ONE))
    assert log.delete_records_before(4) == 4
    assert log.segment_base_offsets == [3, 6]
    assert log.leader_epochs.entries == [(0, 4)]
    with pytest.raises(OffsetOutOfRange):
        log.read(3, 1000)
    assert values(log) == [b"4", b"5", b"6", b"7", b"8"]
    assert drained(log.offset_for_timestamp(0)) == (4, 4, 0)
    assert log.delete_records_before(2) == 4, "the log start never goes back"
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(10)


@pytest.mark.parametrize("end", range(10))
def test_truncation_leaves_a_log_that_ends_there_and_goes_on(
    storage: MemoryStorage, end: int
) -> None:
    log = filled(storage, 10, small_segments(3 * ONE))
    log.truncate_to(end)
    assert (log.log_end_offset, log.high_watermark) == (end, end)
    append(log, batch(b"new", timestamp_ms=77), leader_epoch=1)
    expected = [b"%d" % number for number in range(end)] + [b"new"]
    assert values(log) == expected
    assert log.leader_epochs.entries == ([(0, 0), (1, end)] if end else [(1, 0)])
    assert drained(log.offset_for_timestamp(50)) == (77, end, 1)
    assert values(open_log(storage)) == expected


def test_truncation_inside_a_batch_removes_the_batch(storage: MemoryStorage) -> None:
    log = filled(storage, 1)
    append(log, batch(b"a", b"b", b"c"))
    log.truncate_to(2)
    assert log.log_end_offset == 1


def test_truncation_takes_back_what_producers_sent(storage: MemoryStorage) -> None:
    log = open_log(storage)
    sent = [
        batch(b"x", producer_id=1, producer_epoch=0, base_sequence=sequence)
        for sequence in range(3)
    ]
    for data in sent:
        append(log, data)
    log.truncate_to(1)
    assert log.producer_state.duplicate_of(header_of(sent[2])) is None
    entry = log.producer_state.entry(1)
    assert entry is not None and entry.last_sequence == 0


def test_a_follower_far_behind_starts_anew(storage: MemoryStorage) -> None:
    log = filled(storage, 5)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert log.latest_epoch is None
    assert append(log, batch(b"x")).base_offset == 100
    assert log.segment_base_offsets == [100]


def test_a_partition_that_is_moved_away_is_no_partition_any_more(storage: MemoryStorage) -> None:
    log = filled(storage, 5, small_segments(3 * ONE))
    doomed = log.move_away()
    assert [f"{DATA}/{name}" for name in storage.list(DATA)] == [doomed]
    assert doomed.endswith("-delete")


# -- flushing ----------------------------------------------------------------------------------


def test_flush_messages_syncs_after_so_many_records(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(flush_messages=2))
    append(log, batch(b"0"))
    assert log.recovery_point == 0
    append(log, batch(b"1"))
    assert log.recovery_point == 2
    append(log, batch(b"2"))
    storage.crash()
    assert values(open_log(storage)) == [b"0", b"1"]


def test_flush_ms_syncs_after_so_much_time(storage: MemoryStorage) -> None:
    log = open_log(storage, LogConfig(flush_ms=100))
    append(log, batch(b"0"), now_ms=99)
    assert log.recovery_point == 0
    assert log.flush_is_due(100)
    append(log, batch(b"1"), now_ms=100)
    assert log.recovery_point == 2
    assert not log.flush_is_due(1000), "nothing is unsynced"


def test_by_default_nothing_is_synced(storage: MemoryStorage) -> None:
    log = filled(storage, 5)
    assert log.recovery_point == 0
    storage.crash()
    assert open_log(storage).log_end_offset == 0
