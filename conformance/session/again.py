"""Run a case again during which a target was away that was not started here.

Its owner may have restarted it, which says nothing about the case. If the case itself ends the
target, it does so again, and fails. A target that is away during more than AGAIN_MAX cases is not
being restarted by an owner: it ends by itself now and then, and further cases fail at once.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

from conformance.case import case_of
from conformance.target.examination import Examined

_AWAY, _REPEATED = pytest.StashKey[bool](), pytest.StashKey[bool]()
_COUNT = pytest.StashKey[int]()
AGAIN_MAX = 3
"""The most cases of an examination that run again."""


class Repeats:
    """The pytest plugin that runs a case a second time if the target was away during it, and keeps
    only the second result."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """The cases that ran again."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run the case, a second time if the target was away meanwhile, and report only the last
        run."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if _AWAY in item.stash:
            self.names.append(item.name)
            item.stash[_REPEATED] = True
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.names:
            count = "1 case" if len(self.names) == 1 else f"{len(self.names)} cases"
            names = ", ".join(self.names)
            terminalreporter.write_line(
                f"the target was away during {count}, which ran again: {names}"
            )


def runs_again(
    item: pytest.Item, examined: Examined, died: str | None, error: BaseException | None
) -> bool:
    """Return whether the item runs again, so that this report counts for nothing, and note that it
    does. A case runs again if the target, which was not started here, was away during its first
    run, unless AGAIN_MAX cases have run again. died: the sentence about a target that was away at
    the end of the case and has come back, or None. error: the exception of the case, or None; a
    refused connection also shows that the target was away."""
    was_away = died is not None or isinstance(error, ConnectionRefusedError)
    is_first = case_of(getattr(item, "function", None)) and _AWAY not in item.stash
    count = item.config.stash.get(_COUNT, 0)
    if was_away and is_first and not examined.can_restart and count < AGAIN_MAX:
        item.stash[_AWAY] = True
        item.config.stash[_COUNT] = count + 1
    return _AWAY in item.stash and _REPEATED not in item.stash
