"""The log over restarts and damage, and its index of times."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.list_offsets.test_list_offsets import list_offset
from conformance.cases.log.segments import ROLLING, STEP_MS, now_ms, write
from conformance.target.examination import Examined
from conformance.target.restarts import restarting
from conformance.wire import Wire, batch

FIRST_SEGMENT = "0" * 20 + ".log"


@case("LOG-10", "ListOffsets", versions=(1, 11), spec="KIP-33; class TimeIndex", priority="P1")
def test_times_out_of_order_are_found_in_offset_order(wire: Wire, version: int) -> None:
    """Where timestamps go back and forth, within segments and between them, a timestamp answers the
    first record in the order of offsets that is not older."""
    topic = wire.create_topic(config=ROLLING)
    base = now_ms() - 100 * STEP_MS
    steps = [5, 2, 7, 7, 1, 9, 3, 12, 0]
    for step in steps:
        write(wire, topic, (b"k", b"%d" % step), at_ms=base + step * STEP_MS)
    for asked in range(14):
        expected = next((n for n, step in enumerate(steps) if step >= asked), -1)
        found = list_offset(wire, topic, base + asked * STEP_MS, version)
        time = base + steps[expected] * STEP_MS if expected >= 0 else -1
        expect(
            (found.error_code, found.offset, found.timestamp),
            (0, expected, time),
            f"(error, offset, timestamp) at step {asked}",
        )


@pytest.mark.parametrize("clean", [True, False], ids=["SIGTERM", "SIGKILL"])
@case(
    "LOG-11",
    "Produce",
    versions=(13, 13),
    spec="class LogLoader; KIP-101",
    priority="P1",
    requires=["restart"],
)
def test_what_is_acknowledged_outlives_the_process(
    wire: Wire, version: int, examined: Examined, clean: bool
) -> None:
    """After a restart, orderly or by kill -9, every acknowledged record is there under its offset,
    the high watermark covers it, and the next record gets the next offset."""
    topic = wire.create_topic(config=ROLLING)
    base = now_ms() - 100 * STEP_MS
    for number in range(6):
        write(wire, topic, (b"k", b"%d" % number), at_ms=base + number * STEP_MS)
    with restarting(wire, topic):
        if clean:
            examined.stop_and_restart()
        else:
            examined.kill_and_restart()
    expect(wire.end_offset(topic), 6, "high watermark")
    expect(wire.values(topic), [b"%d" % n for n in range(6)], "records")
    answer = wire.produce(topic, batch(b"next").encode(), version)
    expect((answer.error_code, answer.base_offset), (0, 6), "(error, base offset) of the next")


DAMAGE = {
    "half a batch": lambda last: last[: len(last) // 2],
    "a batch with a wrong CRC": lambda last: last[:-1] + bytes([last[-1] ^ 1]),
    "zeros": lambda last: bytes(len(last)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=[name.replace(" ", "-") for name in DAMAGE])
@case(
    "LOG-12",
    "Produce",
    versions=(13, 13),
    spec="class LogLoader, recoverSegment; class LogSegment, recover",
    priority="P1",
    requires=["restart"],
)
def test_a_torn_tail_is_cut_off(
    wire: Wire, version: int, examined: Examined, damage: object
) -> None:
    """The bytes that a crash left after the last whole batch are cut off at the next start: all
    whole batches are there, and the next record follows them."""
    topic = wire.create_topic(on_one_broker=True)
    for value in (b"a", b"b"):
        expect(wire.produce(topic, batch(value).encode(), version).error_code, 0, "produce error")
    whole = bytes(wire.fetch(topic, 0).records)
    last = whole[len(whole) // 2 :]
    torn = (2).to_bytes(8, "big") + last[8:]  # as the next batch would begin

    def tear(data: Path) -> None:
        log = data / f"{topic.name}-0" / FIRST_SEGMENT
        expect(log.read_bytes(), whole, "bytes in the file before the damage")
        assert callable(damage)
        with log.open("ab") as file:
            file.write(damage(torn))

    with restarting(wire, topic):
        examined.kill_and_restart(tear)
    expect(wire.end_offset(topic), 2, "high watermark")
    expect(wire.values(topic), [b"a", b"b"], "records")
    answer = wire.produce(topic, batch(b"c").encode(), version)
    expect((answer.error_code, answer.base_offset), (0, 2), "(error, base offset) of the next")
    expect_that(
        wire.values(topic) == [b"a", b"b", b"c"],
        "records with the next",
        "a, b, c",
        wire.values(topic),
    )
