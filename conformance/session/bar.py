"""Show on a terminal how far the examination is, instead of a dot per case."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest

QUIET = -1
"""The verbosity (-q) of `touchstone conform`."""
WIDTH = 30


def bar_line(done: int, planned: int, failed: int, seconds: float) -> str:
    """Return the line: a bar, how many runs of cases are done, how many failed, and the time."""
    filled = WIDTH * done // max(planned, 1)
    minutes, rest = divmod(int(seconds), 60)
    bar = "#" * filled + "." * (WIDTH - filled)
    return f"[{bar}] {done}/{planned} runs, {failed} failed, {minutes}:{rest:02}"


class Bar:
    """The pytest plugin that draws the line of progress again after each case. It does nothing if
    the output is no terminal, or with another verbosity than QUIET."""

    def __init__(self) -> None:
        self._reporter: Any = None
        self._planned = self._done = 0
        self._failed = set[str]()
        self._began = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.begin(session.config, len(session.items))

    def begin(self, config: pytest.Config, planned: int) -> None:
        """Begin to draw. planned: the number of runs."""
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or not reporter.isatty or config.option.verbose != QUIET:
            return
        reporter._show_progress_info = False  # no [100%] behind the bar
        self._reporter, self._planned = reporter, planned
        self._began = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, Any]:
        status = yield
        return status if self._reporter is None or status is None else (status[0], "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self._done += 1
        if self._reporter is not None:
            seconds = time.monotonic() - self._began
            line = bar_line(self._done, self._planned, len(self._failed), seconds)
            self._reporter.rewrite(line, erase=True, red=bool(self._failed))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._reporter is not None:
            self._reporter.line("")  # what comes next begins below the bar
