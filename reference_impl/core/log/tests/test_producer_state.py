"""Retries, gaps, epochs, wrap and open transactions, as KIP-98 has them; snapshots byte for
byte.
"""

from time import process_time

import pytest

from reference_impl.core.log.producers.snapshot import (
    BadSnapshot,
    Snapshots,
    decode_snapshot,
    encode_snapshot,
)
from reference_impl.core.log.producers.state import (
    SEQUENCE_MAX,
    BatchMetadata,
    ProducerEntry,
    ProducerStateManager,
    decrement_sequence,
    increment_sequence,
)
from reference_impl.core.log.tests.helpers import batch, header_of
from reference_impl.core.storage import MemoryStorage
from reference_impl.wire import ErrorCode
from reference_impl.wire.batches.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import BatchHeader, Record, RecordBatch

PRODUCER = 4000


def sent(
    sequence: int, records: int = 1, *, epoch: int = 0, transactional: bool = False
) -> BatchHeader:
    return header_of(
        batch(
            *[b"v"] * records,
            producer_id=PRODUCER,
            producer_epoch=epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL_BIT if transactional else 0,
        )
    )


def knowing(*sequences: int, records: int = 1) -> ProducerStateManager:
    state = ProducerStateManager()
    for place, sequence in enumerate(sequences):
        state.update(sent(sequence, records), 100 + place * records, b"")
    return state


def marker(kind: ControlRecordType, epoch: int = 0) -> bytes:
    return end_txn_marker(
        kind, producer_id=PRODUCER, producer_epoch=epoch, coordinator_epoch=9, timestamp_ms=1
    ).encode()


def test_a_retry_of_each_of_the_last_five_batches_is_recognised_with_its_offset() -> None:
    state = knowing(0, 1, 2, 3, 4, 5)
    found = {s: state.duplicate_of(sent(s)) for s in range(7)}
    offsets = {s: None if seen is None else seen.first_offset for s, seen in found.items()}
    assert offsets == {0: None, 1: 101, 2: 102, 3: 103, 4: 104, 5: 105, 6: None}


def test_a_duplicate_has_the_same_range_of_sequences() -> None:
    state = knowing(0, 3, records=3)
    assert state.duplicate_of(sent(3, 3)) == BatchMetadata(5, 105, 2, 1002)
    assert state.duplicate_of(sent(3, 2)) is None
    assert state.duplicate_of(sent(4, 2)) is None


def test_another_epoch_has_no_duplicates() -> None:
    assert knowing(0, 1).duplicate_of(sent(1, epoch=1)) is None


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        (sent(2), ErrorCode.NONE),
        (sent(3), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(0, 2), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(0, epoch=1), ErrorCode.NONE),
        (sent(2, epoch=1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (sent(2, epoch=-1), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
    ids=["next", "gap", "old", "new epoch from 0", "new epoch from 2", "old epoch"],
)
def test_a_batch_must_continue_its_producer(header: BatchHeader, answer: ErrorCode) -> None:
    assert knowing(0, 1).check_sequence(header) is answer


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert ProducerStateManager().check_sequence(sent(17)) is ErrorCode.NONE


def test_after_only_a_marker_a_producer_starts_at_zero() -> None:
    state = ProducerStateManager()
    data = marker(ControlRecordType.COMMIT)
    state.update(header_of(data), 5, data)
    assert state.check_sequence(sent(0)) is ErrorCode.NONE
    assert state.check_sequence(sent(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(SEQUENCE_MAX, 1) == 0
    assert decrement_sequence(1, 3) == SEQUENCE_MAX - 1
    state = knowing(SEQUENCE_MAX - 1, records=2)
    assert state.check_sequence(sent(0)) is ErrorCode.NONE
    across = knowing(SEQUENCE_MAX, records=3)
    assert across.duplicate_of(sent(SEQUENCE_MAX, 3)) is not None
    assert across.check_sequence(sent(2)) is ErrorCode.NONE


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    state = knowing(0, 1)
    state.update(sent(0, epoch=1), 200, b"")
    entry = state.entry(PRODUCER)
    assert entry is not None
    assert (entry.producer_epoch, [seen.last_offset for seen in entry.batches]) == (1, [200])


def test_a_transaction_is_unstable_until_its_marker_is_below_the_high_watermark() -> None:
    state = ProducerStateManager()
    state.update(sent(0, transactional=True), 10, b"")
    state.update(sent(1, transactional=True), 11, b"")
    assert state.first_unstable_offset == 10
    data = marker(ControlRecordType.ABORT)
    done = state.update(header_of(data), 12, data)
    assert done == (PRODUCER, 10, 12, True)
    state.on_high_watermark(12)
    assert state.first_unstable_offset == 10
    state.on_high_watermark(13)
    assert state.first_unstable_offset is None
    entry = state.entry(PRODUCER)
    assert entry is not None and entry.coordinator_epoch == 9


def test_the_earliest_of_several_transactions_counts() -> None:
    state = ProducerStateManager()
    for producer, offset in ((1, 30), (2, 31)):
        state.update(sent(0, transactional=True)._replace(producer_id=producer), offset, b"")
    data = end_txn_marker(ControlRecordType.COMMIT, producer_id=1, producer_epoch=0).encode()
    state.update(header_of(data), 32, data)
    state.on_high_watermark(33)
    assert state.first_unstable_offset == 31


def test_the_earliest_of_many_transactions_is_found_without_a_look_at_all() -> None:
    state, count = ProducerStateManager(), 50_000
    for number in range(count):
        header = sent(0, transactional=True)._replace(producer_id=number)
        state.update(header, 10 + number, b"")
    begun = process_time()
    for _ in range(2_000):
        assert state.first_unstable_offset == 10
    assert process_time() - begun < 0.3
    for number in range(1_000):
        kind = ControlRecordType.ABORT
        data = end_txn_marker(kind, producer_id=number, producer_epoch=0).encode()
        state.update(header_of(data), 10 + count + number, data)
    state.on_high_watermark(2 * count)
    assert state.first_unstable_offset == 1_010


@pytest.mark.parametrize(
    "records",
    [[], [Record(b"", key=b"\0\0\0\x63")], [Record(b"", key=b"\0")]],
    ids=["removed by compaction", "of a later Kafka", "without a whole key"],
)
def test_a_control_batch_that_is_no_marker_changes_nothing(records: list[Record]) -> None:
    state = ProducerStateManager()
    state.update(sent(0, transactional=True), 10, b"")
    data = RecordBatch(
        records, attributes=TRANSACTIONAL_BIT | CONTROL_BIT, producer_id=PRODUCER, producer_epoch=0
    ).encode()
    assert state.update(header_of(data), 11, data) is None
    assert state.first_unstable_offset == 10


def test_only_idle_producers_without_a_transaction_expire() -> None:
    state = knowing(0)
    state.update(sent(0, transactional=True)._replace(producer_id=2), 101, b"")
    state.remove_expired(now_ms=1000 + 99, expiration_ms=100)
    assert [entry.producer_id for entry in state.entries()] == [2, PRODUCER]
    state.remove_expired(now_ms=1000 + 100, expiration_ms=100)
    assert [entry.producer_id for entry in state.entries()] == [2]


# -- snapshots ---------------------------------------------------------------------------------

ENTRY = ProducerEntry(PRODUCER, 2, 9, 1002, 77)
ENTRY.batches.append(BatchMetadata(5, 105, 2, 1002))
GOLDEN = bytes.fromhex(
    "0001"
    "5bcc365b"
    "00000001"  # version, CRC, one entry
    "0000000000000fa0"
    "0002"
    "00000005"
    "0000000000000069"  # id, epoch, sequence, offset
    "00000002"
    "00000000000003ea"
    "00000009"
    "000000000000004d"  # delta, time, coordinator, txn
)


def test_a_snapshot_has_the_bytes_that_the_schema_says() -> None:
    assert encode_snapshot([ENTRY]).hex() == GOLDEN.hex()


def test_a_snapshot_gives_back_what_was_put_in() -> None:
    bare = ProducerEntry(1, 0)
    assert decode_snapshot("x", encode_snapshot([bare, ENTRY])) == [bare, ENTRY]


@pytest.mark.parametrize("length", range(len(GOLDEN)))
def test_a_torn_snapshot_is_refused(length: int) -> None:
    with pytest.raises(BadSnapshot, match="x"):
        decode_snapshot("x", GOLDEN[:length])


def test_the_newest_whole_snapshot_within_the_log_is_used_and_others_removed() -> None:
    storage = MemoryStorage()
    storage.make_directory("d")
    snapshots = Snapshots(storage, "d")
    for offset in (10, 20, 30):
        snapshots.write(offset, [ENTRY])
    storage.corrupt(snapshots.path(20), 8, b"\xff")
    assert snapshots.newest(0, 25) == (10, [ENTRY])
    assert snapshots.offsets() == [10]
    assert snapshots.newest(11, 25) == (0, [])
    assert snapshots.offsets() == []


def test_an_open_transaction_survives_in_a_snapshot() -> None:
    state = ProducerStateManager()
    state.load(decode_snapshot("x", GOLDEN))
    assert state.first_unstable_offset == 77
