"""The options of the conformance suite, and the combinations of them that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.reporting.results import why_unwritable
from conformance.session import selection
from conformance.session.worker import runs_beside_others
from conformance.terms import LEVELS, PREFIX, TERMS


def add_options(parser: pytest.Parser) -> None:
    """Add the suite's options to those of pytest."""
    group = parser.getgroup("touchstone", "what is examined")
    group.addoption("--target", help="start and test a cluster: reference, apache:4.3.1, kfake, …")
    group.addoption("--bootstrap", help="test the cluster at host:port[,host:port…]")
    group.addoption("--nodes", type=int, default=1, help="number of brokers that --target starts")
    group.addoption("--bug", help="plant a bug in the reference (shows that cases can fail)")
    group.addoption("--jobs", type=int, default=1, help="number of processes that run cases")
    selection.add_options(group)
    group.addoption(
        "--all-versions",
        action="store_true",
        help="run every version, not only the first and the last",
    )
    group.addoption("--level", choices=LEVELS, default=LEVELS[-1], help="the most that may be done")
    group.addoption("--timeout-scale", type=float, default=1.0, help="multiply each wait by this")
    group.addoption("--replication-factor", type=int, help="replicas of each topic")
    group.addoption("--prefix", default="", help="begin every name with this")
    group.addoption("--max-time", type=float, help="stop after this many seconds")
    group.addoption("--max-failures", type=int, help="stop after this many failed cases")
    group.addoption("--results-json", type=Path, help="write the results here")
    group.addoption("--results-junit", type=Path, help="write the results here as JUnit XML")
    group.addoption(
        "--results-messages", action="store_true", help="keep messages of cases that pass, too"
    )
    group.addoption("--target-directory", type=Path, help="where the target keeps its data")


def refuse_impossible(config: pytest.Config) -> None:
    """Raise UsageError for options that are wrong, that contradict each other, or whose file cannot
    be written. Create the missing directories of result files."""
    target, bootstrap = config.getoption("--target"), config.getoption("--bootstrap")
    if target and bootstrap:
        raise pytest.UsageError("conformance: give --target or --bootstrap, not both")
    if config.getoption("--bug") and not target:
        raise pytest.UsageError("conformance: --bug needs --target reference")
    nodes = config.getoption("--nodes")
    if nodes != 1 and not target:
        raise pytest.UsageError("conformance: --nodes needs --target, such as apache:4.3.1")
    if nodes not in (1, 3):
        raise pytest.UsageError(f"conformance: --nodes {nodes}: give 1 or 3, which the cases need")
    selection.Selection.of(config)
    selection.check_keyword(config.option.keyword)
    for option in ("--max-time", "--max-failures", "--timeout-scale", "--replication-factor"):
        limit = config.getoption(option)
        if limit is not None and not limit > 0:
            raise pytest.UsageError(f"conformance: {option} {limit:g}: give a number above zero")
    jobs = config.getoption("--jobs")
    if jobs < 1:
        raise pytest.UsageError(f"conformance: --jobs {jobs}: give a number from 1 on")
    processes = config.getoption("numprocesses", None)
    if (target or bootstrap) and processes not in (None, 0, jobs if jobs > 1 else 0):
        raise pytest.UsageError(
            "conformance: one process examines a target; leave out -n, or write --jobs instead"
        )
    if not PREFIX.fullmatch(config.getoption("--prefix")):
        raise pytest.UsageError(
            f"conformance: --prefix {config.getoption('--prefix')}: give at most 100 letters,"
            " digits, dots, underscores and hyphens, as in names of topics"
        )
    for option in ("--results-json", "--results-junit"):
        path = config.getoption(option)
        if path is not None and (why := why_unwritable(path)):
            raise pytest.UsageError(f"conformance: {option} {path}: {why}")


def set_terms(config: pytest.Config) -> None:
    """Set TERMS, the terms of this process, to those that the options name."""
    TERMS.sweeps = not runs_beside_others(config)  # one process has done so for all
    TERMS.level = config.getoption("--level")
    TERMS.timeout_scale = config.getoption("--timeout-scale")
    TERMS.prefix = config.getoption("--prefix")
    TERMS.replication_factor = config.getoption("--replication-factor")
