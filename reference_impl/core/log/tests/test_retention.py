"""The deletion of old segments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import RETIRED_AT_ONCE, OffsetOutOfRange, PartitionLog
from reference_impl.core.log.retention import delete_old_segments
from reference_impl.core.log.segments.retired_segments import DELETED_AT_ONCE
from reference_impl.core.log.tests.helpers import append, batch, open_log, values
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage, StorageError
from reference_impl.wire import RecordBatch


def one_a_segment(storage: MemoryStorage, *times_ms: int, **config: object) -> PartitionLog:
    """Return a log in which each batch has a segment of its own; the last one is active."""
    log = open_log(storage, replace(LogConfig(segment_ms=1), **config))  # type: ignore[arg-type]
    for number, time_ms in enumerate(times_ms):
        if number:
            log.roll()
        append(log, batch(b"%d" % number, timestamp_ms=time_ms))
    return log


@pytest.mark.parametrize(
    ("now_ms", "start"), [(1100, 0), (1101, 1), (1200, 1), (1201, 2), (1300, 2), (1301, 3)]
)
def test_segments_go_when_their_newest_record_is_too_old(now_ms: int, start: int) -> None:
    log = one_a_segment(MemoryStorage(), 1000, 1100, 1200, retention_ms=100)
    delete_old_segments(log, now_ms, Rules())
    assert log.log_start_offset == log.segment_base_offsets[0] == start
    assert log.log_end_offset == 3


def test_a_young_segment_keeps_the_older_looking_ones_behind_it() -> None:
    log = one_a_segment(MemoryStorage(), 1000, 9000, 1000, 1000, retention_ms=100)
    delete_old_segments(log, 5000, Rules())
    assert log.segment_base_offsets == [1, 2, 3]


def test_an_old_log_becomes_empty_once_and_goes_on_at_its_end() -> None:
    storage = MemoryStorage()
    log = one_a_segment(storage, 1000, 1000, retention_ms=100)
    assert delete_old_segments(log, 5000, Rules()) > 0
    assert delete_old_segments(log, 50_000, Rules()) == 0
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    storage.kill()
    again = open_log(storage, log.config)
    assert (again.log_start_offset, again.log_end_offset) == (2, 2)
    assert append(again, batch(b"new")).base_offset == 2


@pytest.mark.parametrize(("spare", "start"), [(-1, 0), (0, 1), (1, 1)])
def test_at_least_retention_bytes_stays(spare: int, start: int) -> None:
    size = len(batch(b"0"))
    log = one_a_segment(MemoryStorage(), 1, 1, 1, retention_ms=-1, retention_bytes=2 * size - spare)
    delete_old_segments(log, 5000, Rules())
    assert log.log_start_offset == start


@pytest.mark.parametrize("config", [{"retention_ms": -1}, {"cleanup_policy": ("compact",)}])
def test_nothing_goes_without_a_limit_or_where_only_compaction_is_asked(
    config: dict[str, object],
) -> None:
    log = one_a_segment(MemoryStorage(), 1, 1, **config)
    assert delete_old_segments(log, 10**15, Rules()) == 0
    assert values(log) == [b"0", b"1"]


def test_what_is_not_committed_stays() -> None:
    storage = MemoryStorage()
    one_a_segment(storage, 1, 1, 1).close(clean=True)
    storage.kill()
    log = open_log(storage, LogConfig(retention_ms=1), clean_shutdown=True, high_watermark=1)
    delete_old_segments(log, 5000, Rules())
    assert log.segment_base_offsets == [1, 2]


def test_a_log_start_inside_a_segment_never_moves_back() -> None:
    storage = MemoryStorage()
    log = open_log(storage, LogConfig(retention_ms=100))
    append(log, batch(b"0", b"1", b"2", timestamp_ms=1000))
    log.roll()
    append(log, batch(b"3", timestamp_ms=5000))
    log.delete_records_before(2)
    delete_old_segments(log, 5001, Rules())
    assert (log.log_start_offset, log.segment_base_offsets) == (3, [3])


def test_segments_that_went_are_renamed_first_and_deleted_later() -> None:
    storage = MemoryStorage()
    config = LogConfig(internal_segment_bytes=1, file_delete_delay_ms=500)
    log = open_log(storage, config)
    for value in (b"a", b"b", b"c"):
        append(log, batch(value))
    log.high_watermark = 3
    being_read = log.locate(0, 1000)
    assert being_read is not None
    log.delete_records_before(2)

    def deleted() -> list[str]:
        return [path for path in storage.paths() if path.endswith(".deleted")]

    assert {path.split(".", 1)[1] for path in deleted()} >= {"log.deleted", "index.deleted"}
    assert log.delete_retired_segments(1000) == 1500
    assert RecordBatch.decode(being_read.read())[0].records[0].value == b"a", "it stays open"
    assert log.delete_retired_segments(1499) == 1500
    assert log.delete_retired_segments(1500) is None
    assert deleted() == []


def test_what_a_crash_left_of_deleted_segments_goes_at_the_start() -> None:
    storage = MemoryStorage()
    log = open_log(storage, LogConfig(internal_segment_bytes=1))
    for value in (b"a", b"b", b"c"):
        append(log, batch(value))
    log.high_watermark = 3
    log.delete_records_before(2)
    storage.kill()
    again = open_log(storage, log_start_offset=2)
    assert values(again) == [b"c"]
    assert not any(path.endswith(".deleted") for path in storage.paths())


def test_without_a_delay_segments_go_at_once() -> None:
    storage = MemoryStorage()
    log = open_log(storage, LogConfig(internal_segment_bytes=1, file_delete_delay_ms=0))
    for value in (b"a", b"b"):
        append(log, batch(value))
    log.high_watermark = 2
    log.delete_records_before(1)
    assert not any("/00000000000000000000." in path for path in storage.paths())
    assert log.delete_retired_segments(0) is None


class FailsOnce(MemoryStorage):
    """A disk of which one rename fails, that of the file with this name."""

    fails_at = ""

    def rename(self, old: str, new: str) -> None:
        if self.fails_at and old.endswith(self.fails_at):
            self.fails_at = ""
            raise StorageError(old, "the disk reports an input/output error")
        super().rename(old, new)


def test_no_segment_is_deleted_after_one_whose_files_could_not_be_renamed() -> None:
    storage = FailsOnce()
    log = one_a_segment(storage, 1000, 1100, 1200, 1300, retention_ms=100)
    storage.fails_at = f"{0:020}.log"
    for now_ms in (1101, 1301):
        with pytest.raises(StorageError, match="input/output"):
            delete_old_segments(log, now_ms, Rules())
    storage.kill()
    again = open_log(storage, log.config)
    assert again.segment_base_offsets == [0, 1, 2, 3]
    assert values(again) == [b"0", b"1", b"2", b"3"]


def test_a_log_whose_cut_has_failed_takes_no_more_batches() -> None:
    log = one_a_segment(MemoryStorage(), 1000, 1100, 1200)
    segment = list(log.segments)[-1]

    def fail() -> None:
        raise StorageError("orders-0", "the disk reports an input/output error")

    segment.delete = fail  # type: ignore[method-assign]
    for change in (lambda: log.truncate_to(1), lambda: append(log, batch(b"more"))):
        with pytest.raises(StorageError, match="input/output"):
            change()


def test_many_segments_go_a_few_at_a_time() -> None:
    """Those below the log start cannot be read meanwhile, and a crash brings none back."""
    storage, many = MemoryStorage(), 5 * RETIRED_AT_ONCE
    log = one_a_segment(storage, *([1000] * many), retention_ms=100, file_delete_delay_ms=500)
    delete_old_segments(log, 5000, Rules())
    assert log.log_start_offset == log.log_end_offset == many
    assert log.segment_base_offsets[0] == RETIRED_AT_ONCE
    with pytest.raises(OffsetOutOfRange):
        log.read(many - 1, 1000)
    steps = 0
    while log.retire_more():
        steps += 1
    assert steps == 4
    assert log.segment_base_offsets == [many]
    assert log.delete_retired_segments(5000) == 5500
    again = open_log(storage, log.config, log_start_offset=many)
    assert (again.log_start_offset, again.segment_base_offsets) == (many, [many])


def test_nothing_more_goes_from_a_log_that_is_closed() -> None:
    """Its partition may be deleted between two steps."""
    log = one_a_segment(
        MemoryStorage(), *([1000] * (2 * RETIRED_AT_ONCE)), retention_ms=100, file_delete_delay_ms=9
    )
    delete_old_segments(log, 5000, Rules())
    log.close(clean=False)
    assert not log.retire_more()


def test_the_files_of_many_segments_are_deleted_in_steps() -> None:
    many = DELETED_AT_ONCE + 10
    log = one_a_segment(
        storage := MemoryStorage(), *([1000] * many), retention_ms=100, file_delete_delay_ms=500
    )
    delete_old_segments(log, 5000, Rules())
    while log.retire_more():
        pass
    assert log.delete_retired_segments(5000) == 5500
    deleted = [path for path in storage.paths() if path.endswith(".log.deleted")]
    assert len(deleted) == many
    assert log.delete_retired_segments(5500) == 5500
    deleted = [path for path in storage.paths() if path.endswith(".log.deleted")]
    assert len(deleted) == 10
    assert log.delete_retired_segments(5500) is None
