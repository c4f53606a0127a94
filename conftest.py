"""What every test of every package shares: the markers `needs` and `nightly`, and the time budget.

A test whose component is missing is not skipped in silence: it is left out and listed at the end,
under "not run (component missing)", with the command that brings the component.

`make test` runs three workers (pytest-xdist), a file at a time; `pytest PATH` runs in one process.
"""

import time
from collections import Counter
from typing import Any

import pytest

from ci import doctor

BUDGET_S = 12 * 60
"""`make test` must end within this on 2 cores, now and for ever; the long runs are nightly."""

ATTACKS = ("chaos/", "ci/")
"""Their tests run in one worker: an attack removes what a killed one left behind, and must not
remove it before the test that looks for it."""

_left_out: pytest.StashKey[list[tuple[str, tuple[str, ...]]]] = pytest.StashKey()
_nightly: pytest.StashKey[int] = pytest.StashKey()
_started: pytest.StashKey[float] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="also run the tests marked nightly")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_left_out] = []
    config.stash[_nightly] = 0
    config.stash[_started] = time.monotonic()


def missing_components(item: pytest.Item) -> tuple[str, ...]:
    """Return the components that the item's `needs` markers name and this machine does not have."""
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    try:
        return tuple(dict.fromkeys(name for name in names if not doctor.found(name)))
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    run: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("nightly") and not config.getoption("--nightly"):
            config.stash[_nightly] += 1
            left_out.append(item)
        elif missing := missing_components(item):
            config.stash[_left_out].append((item.nodeid, missing))
            left_out.append(item)
        else:
            run.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = run


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, and the attacks to one worker."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "attacks" if nodeid.startswith(ATTACKS) else nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker report what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[_left_out]
        session.config.workeroutput["nightly"] = session.config.stash[_nightly]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All workers leave out the same: the word of one is enough."""
    told = getattr(node, "workeroutput", {})
    if "left_out" in told:
        node.config.stash[_left_out] = [(test, tuple(names)) for test, names in told["left_out"]]
        node.config.stash[_nightly] = told["nightly"]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    write = terminalreporter.write_line
    if left_out := config.stash[_left_out]:
        terminalreporter.section("not run (component missing)")
        for name, count in Counter(name for _, names in left_out for name in names).items():
            component = doctor.component(name)
            write(f"{name} ({count} tests): {component.detail}; to mend: {component.mend}")
        for test, names in left_out:
            write(f"  {test} needs {', '.join(names)}")
    if nightly := config.stash[_nightly]:
        write(f"{nightly} tests are nightly; --nightly runs them too")
    took_s = time.monotonic() - config.stash[_started]
    if took_s > BUDGET_S and not config.getoption("--nightly"):
        write(f"took {took_s / 60:.0f} min: over the budget of {BUDGET_S // 60} (see --durations)")
