"""A bound of stale reads below what the settings allow is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.errors import UsageError
from ci.stale_after import check_for_history, check_for_workload
from linearizability import history

SETTINGS = '{"session.timeout.ms": "6000", "max.poll.interval.ms": "20000"}'


def test_a_workload_with_groups_needs_their_session_and_rebalance() -> None:
    words = r"unread for 14 s, the sum of session\.timeout\.ms \(6000\)"
    with pytest.raises(UsageError, match=words):
        check_for_workload(6, "groups")
    check_for_workload(14, "groups")


def test_a_workload_without_groups_may_be_asked_for_anything() -> None:
    check_for_workload(1, "appends")


@pytest.mark.parametrize("settings", [None, "{}", '{"session.timeout.ms": "soon"}'])
def test_a_history_that_does_not_say_is_judged(tmp_path: Path, settings: str | None) -> None:
    check_for_history(1, _history(tmp_path, settings))


def test_a_history_that_says_is_held_to_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give 26 or more"):
        check_for_history(25.9, _history(tmp_path, SETTINGS))
    check_for_history(26, _history(tmp_path, SETTINGS))


def _history(folder: Path, settings: str | None) -> Path:
    file = folder / "history.parquet"
    row = {"f": "subscribe", "group": "g", "settings": settings}
    history.write(file, history.frame([row]))
    return file
