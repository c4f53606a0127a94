"""Test that an incomplete final read tells its reason."""

from chaos.clients.whole_partitions import Reading, out_of_time


def test_an_incomplete_read_says_how_far_it_came_and_what_held_it_up() -> None:
    readings = {
        ("t", 0): Reading(0, 0, high_watermark=9, last_stable_offset=9, position=9),
        ("t", 1): Reading(0, 0, high_watermark=9, last_stable_offset=4, position=4),
        ("t", 2): Reading(0, 0, high_watermark=9, last_stable_offset=9, position=3),
    }
    assert out_of_time(readings) == (
        "not read to the end within 60 s: t-1 (up to offset 4, the last stable offset, where a"
        " transaction has not ended; the end is 9), t-2 (up to offset 3; the end is 9)"
    )
