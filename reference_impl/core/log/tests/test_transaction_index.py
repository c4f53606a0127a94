"""The transaction index: which aborted transactions a range of offsets may hold."""

from __future__ import annotations

import struct

import pytest

from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.segments.transaction_index import AbortedTransaction, TransactionIndex
from reference_impl.core.log.tests.helpers import DIRECTORY, append, batch, open_log, small_segments
from reference_impl.core.storage import MemoryStorage, StorageError
from reference_impl.wire.batches.batch_header import TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker

COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT


def write(log: PartitionLog, producer_id: int, size: int = 10) -> None:
    """Append one transactional batch of one record."""
    last = log.producer_state.entry(producer_id)
    sequence = 0 if last is None else last.last_sequence + 1
    data = batch(
        b"x" * size,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        attributes=TRANSACTIONAL_BIT,
    )
    append(log, data)


def mark(log: PartitionLog, producer_id: int, kind: ControlRecordType) -> None:
    """End the producer's transaction."""
    marker = end_txn_marker(kind, producer_id=producer_id, producer_epoch=0, timestamp_ms=1000)
    append(log, bytearray(marker.encode()))


def interleaved(storage: MemoryStorage) -> PartitionLog:
    """Return a log in which producers 1 and 2 begin, 2 aborts, 3 begins, 1 aborts, 3 commits:
    offsets 0 to 5."""
    log = open_log(storage)
    write(log, 1)  # 0
    write(log, 2)  # 1
    mark(log, 2, ABORT)  # 2
    write(log, 3)  # 3
    mark(log, 1, ABORT)  # 4
    mark(log, 3, COMMIT)  # 5
    return log


EXPECTED = [AbortedTransaction(2, 1, 2, 0), AbortedTransaction(1, 0, 4, 3)]


def test_entries_say_where_the_transactions_lie() -> None:
    log = interleaved(MemoryStorage())
    assert log.aborted_transactions(0, 6) == EXPECTED


@pytest.mark.parametrize(
    ("start", "end", "producers"),
    [(0, 1, [1]), (1, 2, [2, 1]), (3, 4, [1]), (5, 6, []), (4, 6, [1])],
)
def test_a_range_gets_what_overlaps_it(start: int, end: int, producers: list[int]) -> None:
    log = interleaved(MemoryStorage())
    found = log.aborted_transactions(start, end)
    assert [each.producer_id for each in found] == producers


def test_the_file_is_in_kafkas_format_and_there_is_none_without_aborts() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    write(log, 3)
    mark(log, 3, COMMIT)
    assert not [name for name in storage.list(DIRECTORY) if name.endswith(".txnindex")]
    write(log, 3)
    mark(log, 3, ABORT)
    data = storage.read_file(f"{DIRECTORY}/{0:020d}.txnindex")
    assert data == struct.pack(">hqqqq", 0, 3, 2, 3, 4)


@pytest.mark.parametrize("clean", [True, False])
def test_it_is_whole_after_the_log_is_opened_again(clean: bool) -> None:
    storage = MemoryStorage()
    log = interleaved(storage)
    if clean:
        log.close(clean=True)
    storage.kill()
    again = open_log(storage, clean_shutdown=clean)
    assert again.aborted_transactions(0, 6) == EXPECTED


def test_it_is_built_anew_after_a_loss_of_power() -> None:
    storage = MemoryStorage()
    log = interleaved(storage)
    log.flush()
    write(log, 2)
    mark(log, 2, ABORT)
    storage.crash()
    again = open_log(storage)
    assert again.aborted_transactions(0, 99) == EXPECTED


def test_what_a_start_has_rebuilt_survives_a_loss_of_power() -> None:
    """The simulator found aborted records that read_committed consumers got (power-loss-when-shut):
    a start without a snapshot rewrote the index, and no later shutdown synced it."""
    storage = MemoryStorage()
    interleaved(storage).close(clean=True)
    storage.crash()  # the snapshot, which is not synced, is lost
    again = open_log(storage, clean_shutdown=True, recovery_point=6)
    again.close(clean=True)
    storage.crash(lambda path, synced, size: size if path.endswith(".snapshot") else synced)
    last = open_log(storage, clean_shutdown=True, recovery_point=6)
    assert last.aborted_transactions(0, 6) == EXPECTED


def test_a_marker_is_taken_back_if_its_entry_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The simulator found a partition that took no record any more (failed-writes)."""
    storage = MemoryStorage()
    log = open_log(storage)
    write(log, 1)
    charge = storage.charge

    def fail(path: str, size: int) -> None:
        charge(path, size)
        if path.endswith(".txnindex"):
            monkeypatch.undo()
            raise StorageError(path, "the disk reports an input/output error")

    monkeypatch.setattr(storage, "charge", fail)
    with pytest.raises(StorageError):
        mark(log, 1, ABORT)
    assert (log.log_end_offset, log.last_stable_offset) == (1, 0) and log.is_trusted
    mark(log, 1, ABORT)
    assert log.aborted_transactions(0, 2) == [AbortedTransaction(1, 0, 1, 2)]
    storage.kill()
    assert open_log(storage).aborted_transactions(0, 2) == [AbortedTransaction(1, 0, 1, 2)]


@pytest.mark.parametrize("damage", [b"\x00\x00torn", struct.pack(">hqqqq", 7, 1, 1, 1, 1)])
def test_a_damaged_file_is_written_anew(damage: bytes) -> None:
    storage = MemoryStorage()
    interleaved(storage).close(clean=True)
    storage.kill()
    storage.write_atomically(f"{DIRECTORY}/{0:020d}.txnindex", damage)
    again = open_log(storage, clean_shutdown=True)
    assert again.aborted_transactions(0, 6) == EXPECTED


def test_each_segment_has_its_own_and_a_search_goes_on_in_the_next() -> None:
    storage = MemoryStorage()
    log = open_log(storage, small_segments(300))
    write(log, 1)
    for _ in range(6):
        write(log, 2, size=100)
        mark(log, 2, ABORT)
    mark(log, 1, ABORT)
    assert len(log.segment_base_offsets) > 3
    found = log.aborted_transactions(0, 2)
    assert [each.producer_id for each in found] == [2, 1]
    storage.kill()
    again = open_log(storage, small_segments(300))
    assert again.aborted_transactions(0, 99) == log.aborted_transactions(0, 99)
    again.high_watermark = again.log_end_offset
    again.delete_records_before(again.high_watermark)
    names = [name for name in storage.list(DIRECTORY) if name.endswith(".txnindex")]
    assert len(names) == 1


def test_what_is_cut_off_is_forgotten() -> None:
    log = interleaved(MemoryStorage())
    log.truncate_to(4)
    assert log.aborted_transactions(0, 99) == EXPECTED[:1]
    assert log.last_stable_offset == 0


def test_an_entry_before_its_segment_is_no_entry_of_it() -> None:
    storage = MemoryStorage()
    storage.make_directory("d")
    index = TransactionIndex(storage, "d/x.txnindex", 100)
    index.append(AbortedTransaction(1, 90, 110, 111))
    assert index.problem() is None
    index.append(AbortedTransaction(1, 90, 91, 92))
    assert index.problem() == "an entry points before the segment"
