"""The two indexes: their bytes, their lookups, their sanity."""

import pytest

from reference_impl.core.log.segments.offset_index import OffsetIndex
from reference_impl.core.log.segments.time_index import TimeIndex
from reference_impl.core.storage import MemoryStorage

INDEX_BYTES = 10_485_760


def offset_index(storage: MemoryStorage) -> OffsetIndex:
    index = OffsetIndex(storage, "00000000000000000100.index", 100, INDEX_BYTES)
    for last_offset, position in ((104, 4200), (109, 8400), (120, 12_700)):
        index.append(last_offset, position)
    return index


def time_index(storage: MemoryStorage) -> TimeIndex:
    index = TimeIndex(storage, "00000000000000000100.timeindex", 100, INDEX_BYTES)
    for timestamp, offset in ((5000, 104), (5100, 109), (5200, 120)):
        index.maybe_append(timestamp, offset)
    return index


def test_an_offset_entry_is_relative_offset_and_position(storage: MemoryStorage) -> None:
    offset_index(storage)
    assert storage.read_file("00000000000000000100.index").hex(" ", 4) == (
        "00000004 00001068 00000009 000020d0 00000014 0000319c"
    )


def test_a_time_entry_is_timestamp_and_relative_offset(storage: MemoryStorage) -> None:
    time_index(storage)
    assert storage.read_file("00000000000000000100.timeindex").hex(" ", 4) == (
        "00000000 00001388 00000004 00000000 000013ec 00000009 00000000 00001450 00000014"
    )


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("offset", "position"),
    [(100, 0), (103, 0), (104, 4200), (108, 4200), (109, 8400), (120, 12_700), (999, 12_700)],
)
def test_a_lookup_finds_the_last_entry_not_above_the_offset(
    storage: MemoryStorage, offset: int, position: int, in_memory: bool
) -> None:
    index = offset_index(storage)
    if not in_memory:
        index.release_memory()
    assert index.position_before(offset) == position


@pytest.mark.parametrize(
    ("position", "boundary"), [(0, 0), (4199, 0), (4200, 4200), (8399, 4200), (99_999, 12_700)]
)
def test_a_boundary_is_the_last_batch_start_not_after_the_position(
    storage: MemoryStorage, position: int, boundary: int
) -> None:
    assert offset_index(storage).boundary_before(position) == boundary


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(0, 100), (4999, 100), (5000, 104), (5199, 109), (9999, 120)]
)
def test_a_time_lookup_finds_the_last_entry_not_younger(
    storage: MemoryStorage, timestamp: int, offset: int
) -> None:
    assert time_index(storage).offset_before(timestamp) == offset


def test_time_that_stands_still_or_goes_back_adds_no_entry(storage: MemoryStorage) -> None:
    index = time_index(storage)
    index.maybe_append(5200, 130)
    index.maybe_append(5199, 140)
    assert len(index) == 3


@pytest.mark.parametrize(("offset", "left"), [(100, 0), (104, 0), (105, 1), (120, 2), (121, 3)])
def test_truncating_keeps_entries_below_the_offset(
    storage: MemoryStorage, offset: int, left: int
) -> None:
    by_offset, by_time = offset_index(storage), time_index(storage)
    by_offset.truncate_to(offset)
    by_time.truncate_to(offset)
    assert (len(by_offset), len(by_time)) == (left, left)
    assert len(storage.read_file(by_offset.path)) == 8 * left


def test_an_opened_index_has_the_entries_that_were_written(storage: MemoryStorage) -> None:
    offset_index(storage)
    index = OffsetIndex(storage, "00000000000000000100.index", 100, INDEX_BYTES)
    assert (len(index), index.last_offset, index.last_position) == (3, 120, 12_700)
    index.keep_in_memory()
    index.append(130, 20_000)
    assert index.position_before(129) == 12_700


def test_an_index_is_full_by_segment_index_bytes(storage: MemoryStorage) -> None:
    by_offset = OffsetIndex(storage, "a.index", 0, 24)
    by_time = TimeIndex(storage, "a.timeindex", 0, 24)
    for entry in (1, 2, 3):
        assert not by_offset.is_full
        by_offset.append(entry, entry)
    assert by_offset.is_full
    assert not by_time.is_full
    by_time.maybe_append(1, 1)
    assert by_time.is_full, "one place is kept for the entry that closes the segment"


@pytest.mark.parametrize(
    "damage",
    [b"\0\0\0", b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\x20\x7f\0\0\0"],
    ids=["half an entry", "negative offset", "position past the log"],
)
def test_damage_to_an_offset_index_is_seen(storage: MemoryStorage, damage: bytes) -> None:
    offset_index(storage)
    storage.open("00000000000000000100.index").append(damage)
    index = OffsetIndex(storage, "00000000000000000100.index", 100, INDEX_BYTES)
    assert index.problem(log_size=50_000) is not None


def test_an_undamaged_index_has_no_problem(storage: MemoryStorage) -> None:
    assert offset_index(storage).problem(log_size=50_000) is None
    assert time_index(storage).problem() is None
