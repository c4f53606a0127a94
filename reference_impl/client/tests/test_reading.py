"""Fetched records and those handed out of them: sessions, control batches, aborted records."""

from __future__ import annotations

from uuid import UUID

import pytest

from reference_impl.client.reading.fetch_sessions import FetchSession, Wanted
from reference_impl.client.reading.fetched import FetchedPartition
from reference_impl.client.values import TimestampType, TopicPartition
from reference_impl.wire import (
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    ApiKey,
    ControlRecordType,
    CorruptRecord,
    Record,
    RecordBatch,
    Struct,
    end_txn_marker,
    patched,
    response_definition,
)

HERE = TopicPartition("t", 0)
THERE = TopicPartition("t", 1)
ID, OTHER_ID = UUID(int=1), UUID(int=2)


class Log:
    """Bytes of one partition, as a leader has them."""

    def __init__(self) -> None:
        self.data = b""
        self.end = 0

    def add(self, batch: RecordBatch) -> None:
        self.data += patched(batch.encode(), base_offset=self.end)
        self.end += len(batch.records)

    def write(self, producer_id: int, *values: str) -> None:
        """Add records inside a transaction of this producer."""
        records = [Record(value.encode()) for value in values]
        self.add(RecordBatch(records, attributes=TRANSACTIONAL_BIT, producer_id=producer_id))

    def plain(self, *values: str) -> None:
        self.add(RecordBatch([Record(value.encode()) for value in values]))

    def end_transaction(self, producer_id: int, kind: ControlRecordType) -> None:
        self.add(end_txn_marker(kind, producer_id=producer_id, producer_epoch=0))

    def row(self, *aborted: tuple[int, int]) -> Struct:
        """Return the Fetch row of this log; aborted: (producer id, first offset)."""
        of = response_definition(ApiKey.FETCH)
        lines = [of.struct("AbortedTransaction", producer_id=p, first_offset=o) for p, o in aborted]
        return of.struct("PartitionData", records=self.data, aborted_transactions=lines or None)


def read(row: Struct, offset: int = 0, *, committed: bool = True) -> tuple[list[str], int]:
    """Return (values, next offset)."""
    fetched = FetchedPartition(HERE, offset, row, is_read_committed=committed)
    records = fetched.take(1_000)
    assert fetched.is_drained
    return [(record.value or b"").decode() for record in records], fetched.next_offset


def test_aborted_records_are_read_only_uncommitted() -> None:
    log = Log()
    log.write(1, "a")
    log.write(2, "b")
    log.plain("p")
    log.write(1, "c")
    log.end_transaction(1, ControlRecordType.ABORT)
    log.end_transaction(2, ControlRecordType.COMMIT)
    log.write(1, "d")
    log.end_transaction(1, ControlRecordType.COMMIT)
    assert read(log.row((1, 0))) == (["b", "p", "d"], log.end)
    assert read(log.row(), committed=False) == (["a", "b", "p", "c", "d"], log.end)


def test_a_marker_ends_a_transaction_whose_records_came_before_the_answer() -> None:
    """The broker names the transaction, but all of it that is left to read is its marker."""
    log = Log()
    log.write(1, "a")
    before, log.data = log.data, b""
    log.end_transaction(1, ControlRecordType.ABORT)
    log.write(1, "b")
    log.end_transaction(1, ControlRecordType.COMMIT)
    assert before and read(log.row((1, 0)), 1) == (["b"], log.end)


def test_two_aborted_transactions_of_one_producer_are_told_apart() -> None:
    log = Log()
    for value, kind in (
        ("a", ControlRecordType.ABORT),
        ("b", ControlRecordType.COMMIT),
        ("c", ControlRecordType.ABORT),
    ):
        log.write(1, value)
        log.end_transaction(1, kind)
    assert read(log.row((1, 0), (1, 4))) == (["b"], log.end)


def test_a_batch_is_entered_in_its_middle_and_may_end_too_early() -> None:
    log = Log()
    log.plain("a", "b", "c")
    log.plain("d", "e")
    row = log.row()
    row.records = log.data[:-1]
    assert read(row, 1) == (["b", "c"], 3)


def test_records_are_handed_out_as_asked() -> None:
    log = Log()
    log.plain("a", "b", "c")
    fetched = FetchedPartition(HERE, 0, log.row(), is_read_committed=False)
    assert [record.offset for record in fetched.take(2)] == [0, 1]
    assert (fetched.next_offset, fetched.is_drained) == (2, False)
    assert [record.offset for record in fetched.take(2)] == [2]
    assert (fetched.next_offset, fetched.is_drained) == (3, True)


def test_the_epoch_of_a_position_is_that_of_the_batch_before_it() -> None:
    """The position behind a marker belongs to the marker's epoch (CompletedFetch.lastEpoch)."""
    log = Log()
    log.write(1, "a", "b")
    log.data = patched(log.data, partition_leader_epoch=3)
    marker = end_txn_marker(ControlRecordType.COMMIT, producer_id=1, producer_epoch=0).encode()
    log.data += patched(marker, base_offset=2, partition_leader_epoch=4)
    fetched = FetchedPartition(HERE, 0, log.row(), is_read_committed=True)
    fetched.take(1)
    assert (fetched.next_offset, fetched.leader_epoch) == (1, 3)
    fetched.take(10)
    assert (fetched.next_offset, fetched.leader_epoch) == (3, 4)


@pytest.mark.parametrize("at_once", [1, 2, 500])
def test_a_bad_checksum_is_found_after_the_good_batches(at_once: int) -> None:
    log = Log()
    log.plain("a")
    log.plain("b")
    row = log.row()
    row.records = log.data[:-1] + b"!"
    fetched = FetchedPartition(HERE, 0, row, is_read_committed=False)
    assert [record.value for record in fetched.take(at_once)] == [b"a"]
    for _ in range(2):
        with pytest.raises(CorruptRecord, match="crc"):
            fetched.take(at_once)
    assert (fetched.next_offset, fetched.is_drained) == (1, False)


def test_a_timestamp_says_who_set_it() -> None:
    log = Log()
    log.add(RecordBatch([Record(b"a", timestamp_delta=5)], base_timestamp=100))
    log.add(
        RecordBatch(
            [Record(b"b")], base_timestamp=100, max_timestamp=900, attributes=LOG_APPEND_TIME_BIT
        )
    )
    records = FetchedPartition(HERE, 0, log.row(), is_read_committed=False).take(2)
    assert [(record.timestamp_ms, record.timestamp_type) for record in records] == [
        (105, TimestampType.CREATE_TIME),
        (900, TimestampType.LOG_APPEND_TIME),
    ]


# --- sessions (KIP-227) -------------------------------------------------------------------------


def wanted(offset: int, topic_id: UUID = ID) -> Wanted:
    return Wanted(topic_id, offset, 0, 1 << 20)


def test_a_session_is_asked_for_and_then_told_only_what_changes() -> None:
    session = FetchSession()
    first = session.next_request({HERE: wanted(0), THERE: wanted(0)})
    assert (first.session_id, first.epoch, len(first.to_send)) == (0, 0, 2)
    session.answered(77)
    second = session.next_request({HERE: wanted(5), THERE: wanted(0)})
    assert (second.session_id, second.epoch) == (77, 1)
    assert (second.to_send, second.to_forget) == ({HERE: wanted(5)}, {})
    session.answered(77)
    third = session.next_request({HERE: wanted(5)})
    assert (third.epoch, third.to_send, third.to_forget) == (2, {}, {THERE: ID})


def test_a_topic_made_anew_is_forgotten_and_added() -> None:
    session = FetchSession()
    session.next_request({HERE: wanted(5)})
    session.answered(77)
    request = session.next_request({HERE: wanted(0, OTHER_ID)})
    assert (request.to_send, request.to_forget) == ({HERE: wanted(0, OTHER_ID)}, {HERE: ID})


@pytest.mark.parametrize("session_id", [0, 78])
def test_a_broker_without_our_session_is_asked_in_full(session_id: int) -> None:
    session = FetchSession()
    session.next_request({HERE: wanted(0)})
    session.answered(77)
    session.next_request({HERE: wanted(1)})
    session.answered(session_id)
    request = session.next_request({HERE: wanted(1)})
    assert (request.session_id, request.epoch, request.to_send) == (0, 0, {HERE: wanted(1)})
