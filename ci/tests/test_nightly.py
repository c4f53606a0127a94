"""The end of a night: what makes it red."""

from __future__ import annotations

import pytest

from ci.nightly import summarize


@pytest.mark.parametrize(
    ("robustness", "status"),
    [({"fuzz": True, "kills": True}, 3), ({"fuzz": True, "kills": False}, 1), ({}, 3)],
)
def test_a_night_without_a_scenario_is_unknown_and_a_violation_is_red(
    robustness: dict[str, bool], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert summarize([], robustness) == status
    said = capsys.readouterr().out
    assert said.count("RED") == sum(not good for good in robustness.values())
    assert f"{len(robustness)} runs" in said
