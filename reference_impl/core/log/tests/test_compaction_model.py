"""The cleaner against a dictionary: whatever is written, cleaned, and killed in between, a reader
from the start ends with the same newest values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Literal
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.core.log.cleaning.cleaner import Cleaner
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.cleaning import COMPACT, KeyValue, batches_of, left, put
from reference_impl.core.log.tests.dying import Died, DyingStorage
from reference_impl.core.log.tests.helpers import RULES, TOPIC_ID, append
from reference_impl.core.partitions.batch_validation import drained
from reference_impl.wire.batches.batch_header import TRANSACTIONAL_BIT
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import RecordBatch

CONFIG = replace(
    COMPACT,
    internal_segment_bytes=600,
    index_interval_bytes=80,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=50,
)
PRODUCER = 1
End = Literal["plain", "commit", "abort"]
Stop = tuple[int, bool]
"""After how many changes to the disk, and whether it is a loss of power."""


class Model:
    """The records that were written, and the log they were written to."""

    def __init__(self) -> None:
        self.storage = DyingStorage()
        self.written: dict[int, tuple[bytes, bytes | None, bool]] = {}
        self.now_ms, self.end, self.sequence = 1000, 0, 0
        self.start()

    def start(self) -> None:
        self.directory = LogDirectory(self.storage, "data", RULES)
        self.log = self.directory.open_log("orders", 0, TOPIC_ID, CONFIG, self.now_ms)
        self.log.high_watermark = self.log.log_end_offset
        self.cleaner = Cleaner(self.storage, self.directory, RULES)

    def write(self, pairs: list[KeyValue], end: End) -> None:
        self.now_ms += 10
        if end == "plain":
            base = put(self.log, *pairs, at_ms=self.now_ms)
        else:
            base = put(
                self.log,
                *pairs,
                at_ms=self.now_ms,
                producer_id=PRODUCER,
                producer_epoch=0,
                base_sequence=self.sequence,
                attributes=TRANSACTIONAL_BIT,
            )
            self.sequence += len(pairs)
        for number, (key, value) in enumerate(pairs):
            self.written[base + number] = (key, value, end != "abort")
        self.end = base + len(pairs)
        if end != "plain":
            kind = ControlRecordType.COMMIT if end == "commit" else ControlRecordType.ABORT
            marker = end_txn_marker(
                kind, producer_id=PRODUCER, producer_epoch=0, timestamp_ms=self.now_ms
            )
            append(self.log, bytearray(marker.encode()))
            self.end += 1

    def clean(self, pause_ms: int, stop: Stop | None) -> None:
        """Clean to the end, or die on the way and start again."""
        self.now_ms += pause_ms
        limit = self.log.segments.active.base_offset
        if stop is None:
            self.clean_to_the_end()
            self.check_cleaned(limit)
            return
        self.log.flush()
        self.directory.checkpoint()
        self.storage.changes_left, power = stop
        with suppress(Died):
            self.clean_to_the_end()
        self.storage.changes_left = None
        self.storage.crash() if power else self.storage.kill()
        self.start()

    def clean_to_the_end(self) -> None:
        while self.cleaner.begin([self.log], self.now_ms):
            while self.cleaner.is_working:
                assert self.cleaner.work() is None

    # -- what must hold ------------------------------------------------------------------------

    def newest(self, before: int) -> dict[bytes, tuple[int, bytes | None]]:
        found: dict[bytes, tuple[int, bytes | None]] = {}
        for offset, (key, value, counts) in self.written.items():
            if counts and offset < before:
                found[key] = (offset, value)
        return found

    def check(self) -> None:
        log, found = self.log, left(self.log)
        assert log.log_end_offset == log.last_stable_offset == self.end
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets))
        assert all(self.written[offset][:2] == (key, value) for offset, key, value in found)
        active = log.segments.active.base_offset
        assert {at for at in self.written if at >= active} == {at for at in offsets if at >= active}
        for batch in batches_of(log):  # by the indexes
            assert log.read(last_offset(batch), 1).first_offset == batch.base_offset
            if batch.records and not batch.is_control:
                by_time = drained(log.offset_for_timestamp(batch.timestamp_of(batch.records[0])))
                assert by_time is not None
                assert by_time.offset == next(batch.offsets())[0]
        view: dict[bytes | None, bytes] = {}
        for _, key, value in read_committed(log):
            if value is None:
                view.pop(key, None)
            else:
                view[key] = value
        newest = self.newest(self.end)
        assert view == {key: value for key, (_, value) in newest.items() if value is not None}
        entry = log.producer_state.entry(PRODUCER)
        assert (entry.last_sequence + 1 if entry else 0) == self.sequence

    def check_cleaned(self, limit: int) -> None:
        """Require that at most one record of each key is left before the limit, and no aborted
        one."""
        newest = self.newest(limit)
        found = {at: (key, value) for at, key, value in left(self.log) if at < limit}
        values = {at: (key, value) for key, (at, value) in newest.items() if value is not None}
        assert {at: pair for at, pair in found.items() if pair[1] is not None} == values
        assert all(newest[key or b""] == (at, value) for at, (key, value) in found.items())


def read_committed(log: PartitionLog) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Read as a consumer does (KIP-98, Consumer): skip the aborted transactions that the broker
    names."""
    aborted = sorted(log.aborted_transactions(0, log.log_end_offset), key=lambda a: a.first_offset)
    skipped = set[int]()
    for batch in batches_of(log):
        while aborted and aborted[0].first_offset <= last_offset(batch):
            skipped.add(aborted.pop(0).producer_id)
        if batch.is_control:
            skipped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in skipped):
            yield from ((at, record.key, record.value) for at, record in batch.offsets())


def last_offset(batch: RecordBatch) -> int:
    return batch.base_offset + (batch.last_offset_delta or 0)


PAIRS = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.sampled_from([b"1", b"2", None])),
    min_size=1,
    max_size=4,
)
WRITE = st.tuples(PAIRS, st.sampled_from(["plain", "plain", "commit", "abort"]))
STOP = st.none() | st.tuples(st.integers(0, 40), st.booleans())
CLEAN = st.tuples(st.sampled_from([0, 30, 60]), STOP)
WORK = st.lists(
    st.tuples(st.lists(WRITE, min_size=1, max_size=5), st.booleans(), CLEAN), max_size=6
)


@settings(max_examples=80)
@given(work=WORK)
def test_cleaning_changes_nothing_that_a_reader_relies_on(
    work: list[tuple[list[tuple[list[KeyValue], End]], bool, tuple[int, Stop | None]]],
) -> None:
    with patch("reference_impl.core.log.cleaning.compaction.SLICE_BYTES", 150):
        model = Model()
        for writes, rolls, (pause_ms, stop) in work:
            for pairs, end in writes:
                model.write(pairs, end)
            if rolls:
                model.log.roll()
            model.clean(pause_ms, stop)
            model.check()


@pytest.mark.parametrize("power", [False, True])
def test_a_death_at_any_change_to_the_disk_loses_nothing(power: bool) -> None:
    """The same cleaning, killed at its first change, its second, and so on to its last."""
    for changes in range(1000):
        model = Model()
        for number in range(12):
            key, value = b"%d" % (number % 8), b"v" * (37 * number % 50 + 1)
            model.write([(key, value)], "plain")
            model.write([(b"a", b"x")], "abort" if number % 2 else "commit")
            if number % 3 == 0:
                model.write([(b"3", None)], "plain")
                model.log.roll()
        model.log.roll()
        model.clean(0, (changes, power))
        model.check()
        done = model.directory.cleaned_to(("orders", 0)) == model.end
        limit = model.log.segments.active.base_offset
        model.clean(0, None)
        model.check()
        model.check_cleaned(limit)
        if done:
            assert changes > 20
            return
    raise AssertionError("the cleaning never came to its end")
