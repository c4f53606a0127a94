"""Provide what every test of every package shares: the markers `needs`, `nightly`, `sliced` and
`seeds`, what random tests draw, and the time budget.

A test whose component is missing is not skipped in silence: it is left out and listed at the end,
under "not run (component missing)", with advice on how to install the component.

`make test` runs three workers (pytest-xdist), a file at a time, long files first; each has ports of
its own, and removes only what its own tests left behind. `pytest PATH` runs in one process.

Tests that draw at random draw the same in every `make test`, on every machine, so a test that fails
after a change fails because of it. `--nightly` draws by a new seed, and more often; the header and
the summary show the seed.
"""

import os
import secrets
import time
import zlib
from collections import Counter
from typing import Any
from unittest import TestCase

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from chaos.means import guard, ports
from ci import doctor

BUDGET_S = 12 * 60
"""The most seconds that `make test` may take on 2 cores; the summary says if it took more. Tests
that take long are nightly."""

LONG_FILES = (
    "linearizability/tests/test_self_test.py",
    "chaos/run/tests/test_disk_bugs.py",
    "chaos/sim/tests/test_witness.py",
    "ci/tests/test_conform.py",
    "ci/tests/test_cli.py",
    "ci/tests/test_conform_jobs.py",
    "conformance/tests/test_jobs.py",
    "reference_impl/host/tests/test_secured_cluster.py",
    "ci/tests/test_checks.py",
    "ci/tests/test_plugins.py",
    "chaos/probes/tests/test_probes.py",
    "reference_impl/client/tests/test_consumer_groups_over_tcp.py",
    "ci/tests/test_crashes.py",
    "chaos/sim/tests/test_runs.py",
    "reference_impl/host/tests/test_serve.py",
    "linearizability/guarantees/tests/test_twins.py",
    "linearizability/explain/tests/test_shrink.py",
    "linearizability/tests/test_engines.py",
    "chaos/clients/tests/test_confluent_member.py",
    "chaos/targets/tests/test_disk_faults.py",
    "chaos/targets/tests/test_apache.py",
    "chaos/targets/tests/test_foreign.py",
    "chaos/sim/tests/test_determinism.py",
    "reference_impl/robustness/hostile/tests/test_hostile.py",
    "conformance/tests/test_mutation.py",
    "conformance/tests/test_decisions.py",
    "chaos/clients/tests/test_real.py",
    "reference_impl/core/tests/test_long_requests.py",
    "chaos/clients/tests/test_reference_member.py",
    "reference_impl/client/tests/test_over_tcp.py",
    "chaos/clients/tests/test_reference.py",
    "chaos/clients/tests/test_java.py",
    "chaos/targets/tests/test_acknowledged.py",
    "chaos/targets/tests/test_secured.py",
    "conformance/tests/test_group_cases.py",
    "conformance/tests/test_framework.py",
    "ci/report/tests/test_building.py",
    "ci/tests/test_needs.py",
    "reference_impl/robustness/fuzz/tests/test_fuzz.py",
)
"""The files with which workers begin, so that the session does not wait for a single one at the
end."""

EXAMPLES_TIMES_NIGHTLY = 20
"""The factor by which `--nightly` draws more examples and seeds than `make test`."""

settings.register_profile(
    "same",
    derandomize=True,
    deadline=None,
    print_blob=True,
    # A busy machine is no finding.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("anew", settings.get_profile("same"), derandomize=False)

_left_out: pytest.StashKey[list[tuple[str, tuple[str, ...]]]] = pytest.StashKey()
_nightly: pytest.StashKey[int] = pytest.StashKey()
_started: pytest.StashKey[float] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nightly",
        action="store_true",
        help="also run the tests marked nightly, and let random tests draw by a new seed "
        f"({EXAMPLES_TIMES_NIGHTLY} times as many; --hypothesis-seed draws the same again)",
    )
    parser.addoption(
        "--examples-times",
        type=int,
        metavar="N",
        help="draw N times as many examples and seeds as usual (1; with --nightly "
        f"{EXAMPLES_TIMES_NIGHTLY})",
    )


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its own options
def pytest_configure(config: pytest.Config) -> None:
    if config.option.nightly and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(10**9))
    seed = config.option.hypothesis_seed
    if seed is not None and not (seed.isascii() and seed.isdecimal()):
        raise pytest.UsageError(f"--hypothesis-seed takes a whole number, not {seed!r}")
    if examples_times(config) < 1:
        raise pytest.UsageError("--examples-times takes a whole number from 1 on")
    settings.load_profile("same" if seed is None else "anew")
    keep_apart(config)
    config.stash[_left_out] = []
    config.stash[_nightly] = 0
    config.stash[_started] = time.monotonic()


def keep_apart(config: pytest.Config) -> None:
    """Give this worker a realm (guard.REALM) of its own: an attack removes what a killed one of its
    realm left behind, and must not remove what a test of another worker still looks for. Of
    several workers, give each its share of the ports."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    os.environ[guard.REALM] = str(zlib.crc32(f"{config.rootpath} {worker}".encode()))
    if worker:
        workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        number = int(worker.removeprefix("gw")) % workers
        every = ports.allowed()
        own = every[number * len(every) // workers : (number + 1) * len(every) // workers]
        os.environ[ports.VARIABLE] = f"{own.start}-{own.stop - 1}"


def examples_times(config: pytest.Config) -> int:
    """Return the factor by which random tests draw more examples than usual."""
    wanted: int | None = config.option.examples_times
    usual = EXAMPLES_TIMES_NIGHTLY if config.option.nightly else 1
    return usual if wanted is None else wanted


def drawn_anew(config: pytest.Config) -> str:
    """Return the sentence with the options that repeat this session's random draws, or "" if the
    draws are the usual ones."""
    seed, times = config.option.hypothesis_seed, examples_times(config)
    if seed is None:
        return ""
    options = f"--hypothesis-seed={seed} --examples-times={times}"
    return f"random tests draw by seed {seed}; again: pytest {options}"


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [line] if (line := drawn_anew(config)) else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that is marked `seeds(N)` once for each `seed` from 0 to N - 1. --examples-times
    multiplies N, and the seeds begin at that of hypothesis if it has one, as with --nightly."""
    for marker in metafunc.definition.iter_markers("seeds"):
        first = int(metafunc.config.option.hypothesis_seed or 0)
        wanted = marker.args[0] * examples_times(metafunc.config)
        metafunc.parametrize("seed", range(first, first + wanted))


def draw_more(items: list[pytest.Item], times: int) -> None:
    """Let tests of hypothesis draw `times` as many examples, with a time-out `times` as long."""
    done: set[Any] = set()
    for item in items:
        if not (isinstance(item, pytest.Function) and is_hypothesis_test(item.function)):
            continue
        item.add_marker(pytest.mark.timeout(900 * times), append=False)
        is_machine = item.cls is not None and issubclass(item.cls, TestCase)
        holder: Any = item.cls if is_machine else item.function
        name = "settings" if is_machine else "_hypothesis_internal_use_settings"
        if holder not in done:  # the cases of a parametrized test share it
            usual = getattr(holder, name)
            setattr(holder, name, settings(usual, max_examples=usual.max_examples * times))
            done.add(holder)


def missing_components(item: pytest.Item) -> tuple[str, ...]:
    """Return the components that the item's `needs` markers name and this machine does not have.
    Raise pytest.UsageError for a name that the doctor does not know."""
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    try:
        return tuple(dict.fromkeys(name for name in names if not doctor.found(name)))
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from error


def is_nightly(item: pytest.Item, seen: Counter[str]) -> bool:
    """Return whether the item runs only with --nightly: it is marked `nightly`, or its test is
    marked `sliced(N)` and it is none of the cases 1, N + 1, 2 N + 1 and so on. seen: how
    many cases of each test came before; this one is added."""
    test = item.nodeid.partition("[")[0]
    seen[test] += 1
    sliced = item.get_closest_marker("sliced")
    left_for_the_night = sliced is not None and (seen[test] - 1) % sliced.args[0] != 0
    return left_for_the_night or item.get_closest_marker("nightly") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    run: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    seen: Counter[str] = Counter()
    for item in items:
        if is_nightly(item, seen) and not config.getoption("--nightly"):
            config.stash[_nightly] += 1
            left_out.append(item)
        elif missing := missing_components(item):
            config.stash[_left_out].append((item.nodeid, missing))
            left_out.append(item)
        else:
            run.append(item)
    if (times := examples_times(config)) > 1:
        draw_more(run, times)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = run
    if "PYTEST_XDIST_WORKER" in os.environ:
        rank = {file: number for number, file in enumerate(LONG_FILES)}
        items.sort(key=lambda item: rank.get(file_of(item.nodeid), len(rank)))


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a file at a time, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return file_of(nodeid)

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker report what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[_left_out]
        session.config.workeroutput["nightly"] = session.config.stash[_nightly]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over from a worker what it left out. All workers leave out the same, so any will do."""
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
    if line := drawn_anew(config):
        write(line)
    took_s = time.monotonic() - config.stash[_started]
    if took_s > BUDGET_S and not config.getoption("--nightly"):
        write(f"took {took_s / 60:.0f} min: over the budget of {BUDGET_S // 60} (see --durations)")
