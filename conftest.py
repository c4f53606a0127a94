"""What every test of every package shares: the markers `needs` and `nightly`, and the time budget.

A test whose component is missing is not skipped in silence: it is left out and listed at the end,
under "not run (component missing)", with the command that brings the component.
"""

import time
from collections import Counter

import pytest

from ci import doctor

BUDGET_S = 12 * 60
"""`make test` must end within this on 2 cores, now and for ever; the long runs are nightly."""

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
    """What the item's `needs` markers ask for and this machine does not have."""
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    try:
        return tuple(dict.fromkeys(name for name in names if not doctor.found(name)))
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    run: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if missing := missing_components(item):
            config.stash[_left_out].append((item.nodeid, missing))
            left_out.append(item)
        elif item.get_closest_marker("nightly") and not config.getoption("--nightly"):
            config.stash[_nightly] += 1
            left_out.append(item)
        else:
            run.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = run


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
