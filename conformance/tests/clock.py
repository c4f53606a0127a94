"""pytest plugin: `pytest conformance/cases -p conformance.tests.clock --clock-ahead SECONDS
--bootstrap ADDRESS` moves the wall clock of the examining process, so that the clock of the target
is as wrong for it in the other direction."""

from __future__ import annotations

import time

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--clock-ahead", type=float, default=0.0, help="move the clock by so many s")


def pytest_configure(config: pytest.Config) -> None:
    """Move the clock; the process ends with its tests, and nothing moves it back."""
    ahead_s = float(config.getoption("--clock-ahead"))
    wall, wall_ns = time.time, time.time_ns
    setattr(time, "time", lambda: wall() + ahead_s)  # noqa: B010
    setattr(time, "time_ns", lambda: wall_ns() + int(ahead_s * 1e9))  # noqa: B010
