"""The longest steps of a node are in a file of its data directory."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from reference_impl.host.steps import FILE, KEPT, LongestSteps
from reference_impl.robustness.process import BrokerProcess


def written(directory: Path) -> list[tuple[float, str]]:
    rows = json.loads((directory / FILE).read_text())
    return [(row["ms"], row["event"]) for row in rows]


def test_the_longest_steps_are_written_at_most_once_a_second(tmp_path: Path) -> None:
    steps = LongestSteps(tmp_path)
    steps.note(0.5, 100.0, lambda: "first")
    assert written(tmp_path) == [(500.0, "first")]
    for number in range(30):
        steps.note(number / 1000, 100.5, partial(str, number))
    assert written(tmp_path) == [(500.0, "first")]
    steps.note(0.0, 101.0, lambda: "short")
    longest = [(float(number), str(number)) for number in range(29, 29 - KEPT + 1, -1)]
    assert written(tmp_path) == [(500.0, "first"), *longest]


def test_a_directory_that_cannot_be_written_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    LongestSteps(tmp_path / "gone").note(0.5, 100.0, lambda: "first")
    assert f"{FILE} is not written" in caplog.text


def test_a_node_writes_its_longest_steps(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path):
        pass
    assert "Started" in {event for _, event in written(tmp_path)}
