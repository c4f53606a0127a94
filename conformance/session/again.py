"""Run a case again whose first run says nothing about the target.

There are two reasons. A target that was not started here was away during the case: its owner may
have restarted it. If the case itself ends the target, it does so again, and fails. A target that is
away during more than AGAIN_MAX cases is not being restarted by an owner: it ends by itself now and
then, and further cases fail at once.

Or the case failed while others ran on the same target (--jobs): one of them may have ended the
target, or changed what the case found. It runs again alone, as it does with one job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from _pytest.runner import runtestprotocol

from conformance.case import Unsupported, case_of
from conformance.target.examination import Examined

AWAY, BESIDE = "away", "beside others"
"""The reasons for which a case runs again."""
_PENDING = pytest.StashKey[str]()
"""The reason for which the run in progress counts for nothing."""
_REASONS = pytest.StashKey[list[str]]()
_COUNT = pytest.StashKey[int]()
HAS_COMPANY = pytest.StashKey[bool]()
"""Whether other cases may run on the same target during this run of the item."""
IS_LOST = pytest.StashKey[bool]()
"""Whether the run has no result: the target went away for good while others ran beside it, any of
which may have ended it."""
AGAIN_MAX = 3
"""The most cases of an examination that run again because the target was away; with --jobs, of each
process."""


class Repeats:
    """The pytest plugin that runs a case again where the first run says nothing, and keeps only the
    last result."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {AWAY: [], BESIDE: []}
        """Reason -> the cases that ran again."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run the case, again if need be, and report only the last run."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        while needs_another_run(item):
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        self.note(item.name, reasons_of(item))
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def note(self, name: str, reasons: Sequence[str]) -> None:
        """Remember that this case ran again, for each of the reasons."""
        for reason in reasons:
            self.names[reason].append(name)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in lines_about(self.names):
            terminalreporter.write_line(line)


def lines_about(names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each reason for which cases ran again. names: reason -> the cases."""
    counts = {why: f"{len(n)} case{'s' * (len(n) != 1)}" for why, n in names.items()}
    lines = {
        AWAY: f"the target was away during {counts[AWAY]}, which ran again: ",
        BESIDE: f"{counts[BESIDE]} failed beside others (--jobs), and ran again alone, which"
        " counts: ",
    }
    return [line + ", ".join(names[why]) for why, line in lines.items() if names[why]]


def needs_another_run(item: pytest.Item) -> bool:
    """Return whether the item's last run counts for nothing, so that it must run again. Call this
    once after each run: it adds the reason to `reasons_of` and removes the mark."""
    if (reason := item.stash.get(_PENDING, None)) is None:
        return False
    del item.stash[_PENDING]
    item.stash.setdefault(_REASONS, []).append(reason)
    return True


def reasons_of(item: pytest.Item) -> list[str]:
    """Return why the item ran again, in order, each reason once; [] if it did not."""
    return item.stash.get(_REASONS, [])


def runs_again(
    item: pytest.Item,
    examined: Examined,
    died: str | None,
    error: BaseException | None,
    raised: BaseException | None,
) -> bool:
    """Return whether the item runs again, so that this report counts for nothing, and note why: it
    failed beside others, or the target, which was not started here, was away during its run. Each
    happens once to a case, and the latter to at most AGAIN_MAX cases.

    died: the sentence about a target that was away at the end of the case and has come back, or
    None. error: the failure of the case, or None; a refused connection also shows that the target
    was away. raised: the same before a setting of the target explained it, which others may have
    changed.
    """
    if _PENDING in item.stash or case_of(getattr(item, "function", None)) is None:
        return _PENDING in item.stash
    has_failed = died is not None or not (raised is None or isinstance(raised, Unsupported))
    was_away = died is not None or isinstance(error, ConnectionRefusedError)
    was_away = was_away and not examined.can_restart and AWAY not in reasons_of(item)
    count = item.config.stash.get(_COUNT, 0)
    if has_failed and item.stash.get(HAS_COMPANY, False) and BESIDE not in reasons_of(item):
        item.stash[_PENDING] = BESIDE
    elif was_away and count < AGAIN_MAX:
        item.stash[_PENDING] = AWAY
        item.config.stash[_COUNT] = count + 1
    return _PENDING in item.stash
