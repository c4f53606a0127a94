"""Retention: old segments go, by time and by size (cleanup.policy=delete)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.log.segments import (
    HOUR_MS,
    ROLLING,
    STEP_MS,
    kept,
    now_ms,
    topic_with,
    wait_for_log_start,
    write,
    write_apart,
)
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

TIME = "class UnifiedLog, deleteRetentionMsBreachedSegments; topic config retention.ms"
SIZE = "class UnifiedLog, deleteRetentionSizeBreachedSegments; topic config retention.bytes"


@case("LOG-01", "Fetch", spec=TIME, priority="P1", requires=["quick-cleanup"])
def test_segments_older_than_retention_ms_go(wire: Wire) -> None:
    """Segments whose largest timestamp is older than retention.ms are removed: log start and
    earliest offset move up, a fetch below gets OFFSET_OUT_OF_RANGE (1), and younger records
    stay."""
    topic = topic_with(wire, ROLLING, retention_ms=str(HOUR_MS))
    now = now_ms()
    write_apart(wire, topic, (b"a", b"old"), (b"b", b"old"), from_ms=now - 2 * HOUR_MS)
    write(wire, topic, (b"c", b"young"), at_ms=now)
    wait_for_log_start(wire, topic, 2)
    expect(wire.fetch(topic, 1).error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "fetch below")
    expect(kept(wire, topic), [(2, b"c", b"young")], "records left")


@case("LOG-01", "Fetch", spec=TIME, priority="P1", requires=["quick-cleanup"])
def test_even_the_last_segment_goes_when_all_of_it_is_old(wire: Wire) -> None:
    """Where even the newest record is older than retention.ms the log becomes empty, and offsets
    go on where they were."""
    topic = topic_with(wire, {}, retention_ms=str(HOUR_MS))
    write(wire, topic, (b"a", b"1"), (b"b", b"2"), at_ms=now_ms() - 2 * HOUR_MS)
    wait_for_log_start(wire, topic, 2)
    expect(wire.fetch(topic, 2).high_watermark, 2, "high watermark")
    expect(write(wire, topic, (b"c", b"3"), at_ms=now_ms()), 2, "offset of the next record")


@case("LOG-01", "Fetch", spec=TIME, priority="P1", requires=["quick-cleanup"])
def test_the_youngest_record_of_a_segment_keeps_it(wire: Wire) -> None:
    """An old record stays as long as its segment holds a young one, and as long as an older
    segment stays; with retention.ms=-1 for ever."""
    now = now_ms()
    mixed = topic_with(wire, {}, retention_ms=str(HOUR_MS))
    write(wire, mixed, (b"a", b"old"), at_ms=now - 2 * HOUR_MS)
    write(wire, mixed, (b"b", b"young"), at_ms=now)
    shielded = topic_with(wire, {"segment.ms": "60000"}, retention_ms=str(HOUR_MS))
    write(wire, shielded, (b"a", b"young"), at_ms=now)
    write(wire, shielded, (b"b", b"younger"), at_ms=now + 2 * 60_000)
    for_ever = topic_with(wire, ROLLING, retention_ms="-1")
    write_apart(wire, for_ever, (b"a", b"1"), (b"b", b"2"), from_ms=now - 2 * HOUR_MS)
    # A topic made after them, whose records go: so the others have been looked at.
    gone = topic_with(wire, {}, retention_ms=str(HOUR_MS))
    for round in (1, 2):
        write(wire, gone, (b"a", b"old"), at_ms=now - 2 * HOUR_MS)
        wait_for_log_start(wire, gone, round)
    for topic in (mixed, shielded, for_ever):
        expect(wire.fetch(topic, 0).log_start_offset, 0, "log start")


@case("LOG-02", "Fetch", spec=SIZE, priority="P1", requires=["quick-cleanup"])
def test_old_segments_go_until_retention_bytes_fits(wire: Wire) -> None:
    """The oldest segments are removed as long as at least retention.bytes stays; a fetch below the
    rest gets OFFSET_OUT_OF_RANGE (1)."""
    topic = topic_with(wire, ROLLING, retention_bytes="2500")
    pairs = [(b"key", b"%d" % n * 1000) for n in range(5)]
    write_apart(wire, topic, *pairs, from_ms=now_ms() - 5 * STEP_MS)
    wait_for_log_start(wire, topic, 2)
    found = [(offset, value) for offset, _, value in kept(wire, topic)]
    expect(found, [(n, pairs[n][1]) for n in (2, 3, 4)], "records left")
    expect(wire.fetch(topic, 1).error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "fetch below")


@case("LOG-02", "Fetch", spec=SIZE, priority="P1", requires=["quick-cleanup"])
def test_no_bytes_to_keep_are_a_limit(wire: Wire) -> None:
    """retention.bytes=0 keeps no record, unlike -1, which keeps all."""
    limited, unlimited = (topic_with(wire, {}, retention_bytes=limit) for limit in ("0", "-1"))
    for topic in (limited, unlimited):
        write(wire, topic, (b"a", b"1"), (b"b", b"2"), at_ms=now_ms())
    wait_for_log_start(wire, limited, 2)
    expect(len(kept(wire, unlimited)), 2, "records without a limit")


@case("LOG-01", "Fetch", spec=TIME, priority="P1", requires=["quick-cleanup"])
def test_no_time_to_keep_is_a_limit(wire: Wire) -> None:
    """retention.ms=0 keeps no record of the past, unlike -1, which keeps all."""
    limited, unlimited = (topic_with(wire, {}, retention_ms=limit) for limit in ("0", "-1"))
    for topic in (limited, unlimited):
        write(wire, topic, (b"a", b"1"), (b"b", b"2"), at_ms=now_ms() - 1000)
    wait_for_log_start(wire, limited, 2)
    expect(len(kept(wire, unlimited)), 2, "records without a limit")


@case("LOG-03", "Fetch", spec="topic config segment.ms, segment.bytes", priority="P1")
def test_nothing_is_lost_where_segments_meet(wire: Wire) -> None:
    """A partition of many segments is read in order, without gaps, from any offset."""
    topic = wire.create_topic(config=ROLLING)
    pairs = [(b"k", b"%d" % n) for n in range(6)]
    write_apart(wire, topic, *pairs, from_ms=now_ms() - HOUR_MS)
    expect(kept(wire, topic), [(n, *pair) for n, pair in enumerate(pairs)], "records")
    for offset in range(6):
        answer = wire.fetch(topic, offset)
        expect(int.from_bytes(bytes(answer.records or b"")[:8], "big"), offset, "first offset")


@case(
    "LOG-13",
    "Fetch",
    spec="KIP-937; class UnifiedLog, deleteRetentionMsBreachedSegments",
    priority="P2",
    requires=["quick-cleanup"],
)
def test_records_of_the_future_are_kept(wire: Wire) -> None:
    """A segment whose largest timestamp lies in the future is not older than retention.ms: it
    stays, while old segments of another partition go twice."""
    ahead = {**ROLLING, "message.timestamp.after.max.ms": str(3 * HOUR_MS)}
    future = topic_with(wire, ahead, retention_ms="1000")
    old = topic_with(wire, {}, retention_ms="1000")
    now = now_ms()
    write_apart(wire, future, (b"a", b"1"), (b"b", b"2"), from_ms=now + HOUR_MS)
    for end in (1, 2):  # the second time every partition has been looked at since
        write(wire, old, (b"k", b"v"), at_ms=now - HOUR_MS)
        wait_for_log_start(wire, old, end)
    expect(kept(wire, future), [(0, b"a", b"1"), (1, b"b", b"2")], "records of the future")
