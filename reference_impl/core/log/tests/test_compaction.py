"""The cleaner, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_impl.core.log.cleaning.batch_filter import ENCODED_AT_ONCE
from reference_impl.core.log.cleaning.compaction import Interrupted, clean, cleanable, grouped
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.cleaning import (
    COMPACT,
    KeyValue,
    batches_of,
    clean_all,
    left,
    put,
)
from reference_impl.core.log.tests.helpers import DIRECTORY, RULES, append, open_log
from reference_impl.core.storage import MemoryStorage
from reference_impl.wire.batches.batch_header import DELETE_HORIZON_BIT, TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import STREAMED_AT_ONCE, Compression, Record, RecordBatch

NINE: list[KeyValue] = [(key.encode(), b"%d" % n) for n, key in enumerate("ABACBADCA", 1)]
LEFT_OF_NINE = [(4, b"B", b"5"), (6, b"D", b"7"), (7, b"C", b"8"), (8, b"A", b"9")]


def compacted(storage: MemoryStorage, **config: object) -> PartitionLog:
    return open_log(storage, replace(COMPACT, **config))  # type: ignore[arg-type]


def mark(log: PartitionLog, kind: ControlRecordType) -> None:
    marker = end_txn_marker(kind, producer_id=1, producer_epoch=0, timestamp_ms=1000)
    append(log, bytearray(marker.encode()))


def transaction(log: PartitionLog, sequence: int, *pairs: KeyValue) -> None:
    put(
        log,
        *pairs,
        producer_id=1,
        producer_epoch=0,
        base_sequence=sequence,
        attributes=TRANSACTIONAL_BIT,
    )


@pytest.mark.parametrize("in_one_batch", [True, False])
def test_the_newest_value_of_each_key_stays_at_its_offset(in_one_batch: bool) -> None:
    """The worked example of claims CMP-2."""
    storage = MemoryStorage()
    log = compacted(storage)
    for pairs in [NINE] if in_one_batch else [[pair] for pair in NINE]:
        put(log, *pairs)
        log.roll()
    assert clean_all(storage, log) == 9
    assert left(log) == LEFT_OF_NINE
    assert log.log_end_offset == 9
    if in_one_batch:
        assert [(b.base_offset, b.last_offset_delta) for b in batches_of(log)] == [(0, 8)]
    assert log.segment_base_offsets == [0, 9]
    assert log.read(0, 10_000).first_offset == (0 if in_one_batch else 4)
    storage.kill()
    assert left(open_log(storage, COMPACT)) == LEFT_OF_NINE
    assert [name for name in storage.list(DIRECTORY) if name.endswith((".swap", ".cleaned"))] == []


def test_the_active_segment_is_neither_cleaned_nor_looked_at() -> None:
    storage = MemoryStorage()
    log = compacted(storage)
    put(log, (b"k", b"1"))
    log.roll()
    put(log, (b"k", b"2"))
    assert clean_all(storage, log) == 1
    assert [value for _, _, value in left(log)] == [b"1", b"2"]


def test_a_tombstone_goes_in_a_cleaning_after_its_horizon() -> None:
    storage = MemoryStorage()
    log = compacted(storage)
    put(log, (b"k", b"1"))
    put(log, (b"k", None), at_ms=1001)
    log.roll()
    done = clean_all(storage, log, now_ms=5000)
    (batch,) = batches_of(log)
    assert batch.attributes & DELETE_HORIZON_BIT
    assert batch.base_timestamp == 5000 + COMPACT.delete_retention_ms
    assert batch.timestamp_of(batch.records[0]) == 1001, "records keep their time"
    clean_all(storage, log, done, now_ms=5999)
    assert left(log) == [(1, b"k", None)]
    clean_all(storage, log, done, now_ms=6000)
    assert left(log) == []
    assert log.log_end_offset == 2


def test_aborted_records_go_at_once_and_their_marker_last() -> None:
    storage = MemoryStorage()
    log = compacted(storage)
    transaction(log, 0, (b"k", b"committed"))
    mark(log, ControlRecordType.COMMIT)  # 1
    transaction(log, 1, (b"k", b"aborted"))
    mark(log, ControlRecordType.ABORT)  # 3
    put(log, (b"other", b"1"), producer_id=1, producer_epoch=0, base_sequence=2)  # 4
    log.roll()
    clean_all(storage, log)
    assert left(log) == [(0, b"k", b"committed"), (4, b"other", b"1")]
    assert [b.base_offset for b in batches_of(log) if b.is_control] == [1, 3]
    assert [a.last_offset for a in log.aborted_transactions(0, 9)] == [3]
    clean_all(storage, log, now_ms=5000)  # finds no record of the aborted one: sets its horizon
    assert log.aborted_transactions(0, 9) == []
    clean_all(storage, log, now_ms=9000)
    assert [b.base_offset for b in batches_of(log) if b.is_control] == [1]
    storage.kill()
    again = open_log(storage, COMPACT)
    entry = again.producer_state.entry(1)
    assert entry is not None
    assert (entry.last_sequence, entry.current_txn_first_offset) == (2, None)


def test_the_last_batch_of_a_producer_stays_empty() -> None:
    storage = MemoryStorage()
    log = compacted(storage)
    put(log, (b"k", b"1"), producer_id=7, producer_epoch=0, base_sequence=0)
    put(log, (b"k", b"2"), (b"l", b"2"), producer_id=7, producer_epoch=0, base_sequence=1)
    put(log, (b"k", b"3"), (b"l", b"3"))
    log.roll()
    clean_all(storage, log)
    assert [(b.base_offset, len(b.records)) for b in batches_of(log)] == [(1, 0), (3, 2)]
    for name in storage.list(DIRECTORY):
        if name.endswith(".snapshot"):
            storage.delete(f"{DIRECTORY}/{name}")
    storage.kill()
    entry = open_log(storage, COMPACT).producer_state.entry(7)
    assert entry is not None
    assert entry.last_sequence == 2


def test_what_is_younger_than_the_lag_or_undecided_is_left() -> None:
    log = compacted(MemoryStorage(), min_compaction_lag_ms=1000)
    for at_ms in (1000, 2000, 3000):
        put(log, (b"k", b"v"), at_ms=at_ms)
        log.roll()
    assert cleanable(log, 0, now_ms=3500, steps=RULES).first_uncleanable_offset == 2
    transaction(log, 0, (b"k", b"open"))
    log.roll()
    assert cleanable(log, 0, now_ms=99_000, steps=RULES).first_uncleanable_offset == 3


def test_dirty_logs_are_due_and_overdue_ones_without_regard_to_dirt() -> None:
    storage = MemoryStorage()
    log = compacted(storage, min_cleanable_dirty_ratio=0.5, max_compaction_lag_ms=10_000)
    for key in (b"a", b"b", b"c"):
        put(log, (key, b"v"))
        log.roll()
    assert cleanable(log, 0, now_ms=2000, steps=RULES).is_due
    done = clean_all(storage, log)
    assert not cleanable(log, done, now_ms=2000, steps=RULES).is_due
    put(log, (b"d", b"v"))
    log.roll()
    assert not cleanable(log, done, now_ms=2000, steps=RULES).is_due
    assert cleanable(log, done, now_ms=11_001, steps=RULES).is_due


def test_the_longest_lag_also_ends_segments() -> None:
    log = compacted(MemoryStorage(), max_compaction_lag_ms=10)
    put(log, (b"a", b"1"), at_ms=1000)
    put(log, (b"a", b"2"), at_ms=1011)
    assert log.segment_base_offsets == [0, 1]


def test_cleaned_segments_are_joined_up_to_the_size_of_one() -> None:
    log = compacted(MemoryStorage(), internal_segment_bytes=250, index_interval_bytes=0)
    for number in range(8):
        put(log, (b"%d" % number, b"v" * 20))
        log.roll()
    sizes = [[s.base_offset for s in group] for group in grouped(log.segments.closed, log)]
    assert sizes == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_cleaning_gives_up_when_the_log_has_changed_between_two_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reference_impl.core.log.cleaning.compaction.SLICE_BYTES", 1)
    storage = MemoryStorage()
    log = compacted(storage)
    for _ in range(5):
        put(log, (b"k", b"v"))
        log.roll()
    slices = clean(storage, cleanable(log, 0, 5000, RULES), 5000, RULES)
    for _ in range(7):  # five segments read, two copied
        assert next(slices) is None
    assert [name for name in storage.list(DIRECTORY) if name.endswith(".cleaned")]
    log.delete_records_before(4)
    with pytest.raises(Interrupted):
        list(slices)
    assert [name for name in storage.list(DIRECTORY) if name.endswith(".cleaned")] == []


@pytest.mark.parametrize("codec", list(Compression))
def test_a_large_batch_is_cleaned_in_steps_and_a_small_one_at_once(codec: Compression) -> None:
    """A batch of 1 MB may hold millions of records, which take seconds; but small batches are many,
    and each slice ends in a pause."""
    storage = MemoryStorage()
    log = compacted(storage)
    count = 3 * STREAMED_AT_ONCE
    for names in ((b"k-%d" % (n // 2) for n in range(count)), (b"small-%d" % n for n in range(9))):
        records = [Record(b"v", key=name) for name in names]
        append(log, bytearray(RecordBatch(records, attributes=codec).encode()))
        log.roll()
    *slices, _ = clean(storage, cleanable(log, 0, 5000, RULES), 5000, RULES)
    assert 2 * 3 + count // 2 // ENCODED_AT_ONCE <= len(slices) <= 60
    batches = batches_of(log)
    assert [len(batch.records) for batch in batches] == [count // 2, 9]
    assert {batch.compression for batch in batches} == {codec}


def test_more_keys_than_the_memory_holds_are_cleaned_in_rounds() -> None:
    storage = MemoryStorage()
    log = open_log(storage, replace(COMPACT, segment_ms=1))
    for number in range(12):
        if number:
            log.roll()
        put(log, (b"%d" % (number % 6), b"%d" % number), at_ms=1000 + number)
    put(log, (b"end", b"!"), at_ms=1100)
    log.high_watermark = log.log_end_offset
    cleaned_to, rounds = 0, 0
    while rounds == 0 or cleaned_to < log.segments.active.base_offset:
        *_, done = clean(storage, cleanable(log, cleaned_to, 5000, RULES), 5000, RULES, keys_max=4)
        assert done is not None and done > cleaned_to, "each round gets on"
        cleaned_to, rounds = done, rounds + 1
    assert rounds > 1
    expected = [(n, b"%d" % (n % 6), b"%d" % n) for n in range(6, 12)]
    assert [each for each in left(log) if each[1] != b"end"] == expected
