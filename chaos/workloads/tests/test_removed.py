"""A run in which no record was removed does not let `retention` judge anything."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.values.protocols import MustShow, Outcome, Record
from chaos.workloads import WORKLOADS
from chaos.workloads.removed import nothing_cleaned, nothing_deleted


def log(
    start: int, end: int, without: tuple[int, ...] = (), replica: int | None = None
) -> Iterator[Record]:
    """Return a log as it was read: its records, then the statement about the whole."""
    extra = {"replica": replica}
    for offset in range(start, end):
        if offset not in without:
            yield Record("t", 0, offset, offset, extra=extra)
    whole = {"f": "read_all", "log_start": start, "high_watermark": end, **extra}
    yield Record("t", 0, None, None, Outcome.OK, extra=whole)


def test_deletion_is_shown_by_a_log_that_begins_later() -> None:
    assert nothing_deleted([*log(0, 5), *log(3, 9)]) is None
    assert "no broker deleted a record" in str(nothing_deleted([*log(0, 5), *log(0, 9)]))


def test_compaction_is_shown_by_an_offset_without_a_record() -> None:
    assert nothing_cleaned([*log(0, 5), *log(0, 9, without=(4,))]) is None
    assert "compaction removed no record" in str(nothing_cleaned([*log(2, 5), *log(0, 9)]))


def test_leaders_are_asked_and_followers_are_not() -> None:
    follower = [*log(3, 9, without=(4,), replica=2)]
    assert nothing_deleted([*log(0, 9), *follower]) is not None
    assert nothing_cleaned([*log(0, 9), *follower]) is not None


def test_the_workloads_about_removal_say_so() -> None:
    for name in ("retention", "compaction"):
        workload = WORKLOADS[name]
        assert isinstance(workload, MustShow)
        assert workload.why_nothing_shown([*log(0, 9)]) is not None
        assert workload.why_nothing_shown([*log(3, 9, without=(4,))]) is None
