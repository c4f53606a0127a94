"""Compaction: of each key the newest value stays (cleanup.policy=compact)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.log.segments import (
    COMPACTED,
    HOUR_MS,
    STEP_MS,
    KeyValue,
    now_ms,
    topic_with,
    wait_for_log_start,
    wait_until_kept,
    write,
    write_apart,
)
from conformance.wire import Wire
from reference_impl.wire.batches.batch_header import DELETE_HORIZON_BIT

BASICS = "design#compactionguarantees; class Cleaner, shouldRetainRecord"
HORIZON = "KIP-534; class Cleaner, shouldRetainDeletes; topic config delete.retention.ms"
NINE: list[KeyValue] = [(key.encode(), b"%d" % n) for n, key in enumerate("ABACBADCA", 1)]
LEFT_OF_NINE = [(4, b"B", b"5"), (6, b"D", b"7"), (7, b"C", b"8"), (8, b"A", b"9")]
END: KeyValue = (b"end", b"!")
"""The last record, whose segment is active and therefore never cleaned."""


@case("LOG-04", "Fetch", spec=BASICS, priority="P1", requires=["quick-cleanup"])
def test_the_newest_value_of_each_key_stays(wire: Wire) -> None:
    """Keys A B A C B A D C A with values 1 to 9 become B5 D7 C8 A9: in their order, at their
    offsets; the end of the log does not move, and a fetch of a removed offset gets what follows."""
    topic = wire.create_topic(config=COMPACTED)
    last_ms = write_apart(wire, topic, *NINE, from_ms=now_ms() - HOUR_MS)
    write(wire, topic, END, at_ms=last_ms)
    wait_until_kept(wire, topic, [*LEFT_OF_NINE, (9, *END)], "after compaction")
    answer = wire.fetch(topic, 0)
    expect((answer.log_start_offset, answer.high_watermark), (0, 10), "(log start, end)")
    first = wire.batches(topic, 5)[0]
    expect([offset for offset, _ in first.offsets()], [6], "what a fetch of offset 5 gets")


@case(
    "FETCH-37",
    "Fetch",
    spec="design#compactiondetails; class LocalLog, read",
    priority="P2",
    requires=["quick-cleanup"],
)
def test_a_fetch_goes_on_behind_gaps_and_segments(wire: Wire) -> None:
    """In a log of several segments from which compaction has removed records, a fetch of any offset
    from the log start to the end returns the next remaining record, and a fetch of the end offset
    returns nothing."""
    topic = wire.create_topic(config=COMPACTED)
    last_ms = write_apart(wire, topic, *NINE, from_ms=now_ms() - HOUR_MS)
    write(wire, topic, END, at_ms=last_ms)
    wait_until_kept(wire, topic, [*LEFT_OF_NINE, (9, *END)], "after compaction")
    for asked in range(10):
        left = [offset for batch in wire.batches(topic, asked) for offset, _ in batch.offsets()]
        behind = [offset for offset in left if offset >= asked]
        expected = [offset for offset in (4, 6, 7, 8, 9) if offset >= asked]
        expect(behind, expected, f"records from offset {asked} on")
    answer = wire.fetch(topic, 10)
    expect((answer.error_code, bytes(answer.records or b"")), (0, b""), "(error, records) at 10")


@case("LOG-04", "Fetch", spec=BASICS, priority="P1", requires=["quick-cleanup"])
def test_a_batch_that_lost_records_keeps_its_offsets(wire: Wire) -> None:
    """Of one batch with nine records four stay; the batch keeps its base offset and its last
    offset, so that readers know where the next one begins."""
    topic = wire.create_topic(config=COMPACTED)
    write(wire, topic, *NINE, at_ms=now_ms() - HOUR_MS)
    write(wire, topic, END, at_ms=now_ms())
    wait_until_kept(wire, topic, [*LEFT_OF_NINE, (9, *END)], "after compaction")
    first = wire.batches(topic)[0]
    expect((first.base_offset, first.last_offset_delta), (0, 8), "(base offset, last delta)")
    expect(wire.fetch(topic, 9).high_watermark, 10, "high watermark")


@case("LOG-04", "Fetch", spec=BASICS, priority="P1", requires=["quick-cleanup"])
def test_the_active_segment_is_not_cleaned(wire: Wire) -> None:
    """A value in the active segment is neither removed nor removes an older one; once its segment
    is closed, both can happen."""
    topic = wire.create_topic(config=COMPACTED)
    next_ms = write_apart(wire, topic, (b"k", b"1"), (b"k", b"2"), from_ms=now_ms() - HOUR_MS)
    write(wire, topic, (b"k", b"3"), at_ms=next_ms)
    wait_until_kept(wire, topic, [(1, b"k", b"2"), (2, b"k", b"3")], "with 3 in the active segment")
    write(wire, topic, END, at_ms=next_ms + STEP_MS)
    wait_until_kept(wire, topic, [(2, b"k", b"3"), (3, *END)], "with 3 in a closed segment")
    expect(wire.fetch(topic, 3).high_watermark, 4, "high watermark")


@case("LOG-05", "Fetch", spec=HORIZON, priority="P1", requires=["quick-cleanup"])
def test_a_tombstone_removes_its_key_and_then_goes(wire: Wire) -> None:
    """A null value removes the older ones; the tombstone itself stays for delete.retention.ms,
    counted from its first cleaning, and is removed by a cleaning after that."""
    topic = topic_with(wire, COMPACTED, delete_retention_ms="1")
    pairs = [(b"k", b"v"), (b"k", None), END]
    next_ms = write_apart(wire, topic, *pairs, from_ms=now_ms() - HOUR_MS)
    wait_until_kept(wire, topic, [(1, b"k", None), (2, *END)], "after one cleaning")
    stamped = wire.batches(topic)[0]
    expect(bool(stamped.attributes & DELETE_HORIZON_BIT), True, "the tombstone has a horizon")
    write(wire, topic, END, at_ms=next_ms)
    wait_until_kept(wire, topic, [(2, *END), (3, *END)], "after another cleaning")
    expect(wire.fetch(topic, 3).high_watermark, 4, "high watermark")


@case("LOG-05", "Fetch", spec=HORIZON, priority="P1", requires=["quick-cleanup"])
def test_an_empty_value_is_not_a_tombstone(wire: Wire) -> None:
    """An empty value must stay as its key's newest one, also after the cleaning that removes a
    tombstone beside it: only a null deletes a key."""
    topic = topic_with(wire, COMPACTED, delete_retention_ms="1")
    later_ms = write_apart(wire, topic, (b"k", b"v"), from_ms=now_ms() - HOUR_MS)
    # In one batch: the cleaning that removes the older value is then the tombstone's first one.
    write(wire, topic, (b"k", b""), (b"t", None), at_ms=later_ms)
    next_ms = write_apart(wire, topic, END, from_ms=later_ms + STEP_MS)
    wait_until_kept(wire, topic, [(1, b"k", b""), (2, b"t", None), (3, *END)], "after one cleaning")
    write(wire, topic, END, at_ms=next_ms)
    left = [(1, b"k", b""), (3, *END), (4, *END)]
    wait_until_kept(wire, topic, left, "after another cleaning")


@case("LOG-05", "Fetch", spec=HORIZON, priority="P1", requires=["quick-cleanup"])
def test_a_tombstone_stays_for_delete_retention_ms(wire: Wire) -> None:
    """Within delete.retention.ms of its first cleaning a tombstone stays, however often the log
    is cleaned: a reader that is slow still learns of the deletion. Later cleanings do not put off
    the time at which it may go."""
    topic = topic_with(wire, COMPACTED, delete_retention_ms=str(HOUR_MS))
    next_ms = write_apart(wire, topic, (b"k", b"v"), (b"k", None), from_ms=now_ms() - HOUR_MS)
    horizons = []
    for number in range(3):
        write(wire, topic, (b"x", b"%d" % number), at_ms=next_ms + number * STEP_MS)
        left = [(1, b"k", None), *((n + 2, b"x", b"%d" % n) for n in (number - 1, number))]
        wait_until_kept(wire, topic, [each for each in left if each[2] != b"-1"], "each time")
        horizons.append(wire.batches(topic)[0].base_timestamp)
    expect(horizons, horizons[:1] * 3, "delete horizon after each cleaning")
    expect(wire.fetch(topic, 4).high_watermark, 5, "high watermark")


@case(
    "LOG-06",
    "Fetch",
    spec="KIP-58; topic config min.compaction.lag.ms",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_records_younger_than_the_lag_are_not_cleaned(wire: Wire) -> None:
    """Records younger than min.compaction.lag.ms are not removed, and older records with their keys
    are not removed because of them."""
    topic = topic_with(wire, COMPACTED, min_compaction_lag_ms=str(HOUR_MS))
    old, young = now_ms() - 2 * HOUR_MS, now_ms() - HOUR_MS // 2
    write_apart(wire, topic, (b"k", b"1"), (b"k", b"2"), from_ms=old)
    next_ms = write_apart(wire, topic, (b"k", b"3"), (b"k", b"4"), from_ms=young)
    write(wire, topic, END, at_ms=next_ms)
    left = [(1, b"k", b"2"), (2, b"k", b"3"), (3, b"k", b"4"), (4, *END)]
    wait_until_kept(wire, topic, left, "with two records younger than the lag")
    expect(wire.fetch(topic, 4).high_watermark, 5, "high watermark")


@case(
    "LOG-06",
    "Fetch",
    spec="KIP-354; topic config max.compaction.lag.ms",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_records_older_than_the_longest_lag_are_cleaned(wire: Wire) -> None:
    """Where the oldest unclean record is older than max.compaction.lag.ms the log is cleaned
    although it is not dirty enough, and a segment ends after that time although segment.ms is
    longer."""
    slow = {"segment.ms": str(24 * HOUR_MS), "min.cleanable.dirty.ratio": "1.0"}
    topic = topic_with(wire, {**COMPACTED, **slow}, max_compaction_lag_ms=str(HOUR_MS))
    now = now_ms()
    write(wire, topic, (b"k", b"1"), at_ms=now - 5 * HOUR_MS)
    write(wire, topic, (b"k", b"2"), at_ms=now - 3 * HOUR_MS)
    write(wire, topic, (b"k", b"3"), at_ms=now)
    wait_until_kept(wire, topic, [(1, b"k", b"2"), (2, b"k", b"3")], "past the longest lag")
    expect(wire.fetch(topic, 2).high_watermark, 3, "high watermark")


@case("LOG-07", "Fetch", spec="KIP-71", priority="P1", requires=["quick-cleanup"])
def test_both_policies_hold_together(wire: Wire) -> None:
    """With cleanup.policy=compact,delete segments older than retention.ms go, even with the newest
    value of a key, and what stays is compacted."""
    both = {**COMPACTED, "cleanup.policy": "compact,delete"}
    topic = topic_with(wire, both, retention_ms=str(HOUR_MS))
    now = now_ms()
    write(wire, topic, (b"only", b"1"), at_ms=now - 2 * HOUR_MS)
    # First of all: once cleaning has joined it to a younger segment it stays as long as that does.
    wait_for_log_start(wire, topic, 1)
    next_ms = write_apart(wire, topic, (b"k", b"1"), (b"k", b"2"), from_ms=now - 20 * STEP_MS)
    write(wire, topic, END, at_ms=next_ms)
    wait_until_kept(wire, topic, [(2, b"k", b"2"), (3, *END)], "with both policies")
    expect(wire.fetch(topic, 3).high_watermark, 4, "high watermark")
