"""pytest plugin of the examination: --target or --bootstrap, versions, three results, reports.

`pytest conformance --bootstrap host:9092` examines any Kafka-compatible address;
`--target apache:4.3.1` starts one first, and starts it again if a case kills it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.protocols import TargetError
from conformance.case import Case, Deviation, Unsupported, case_of
from conformance.examination import Examined, chosen_versions
from conformance.results import Results, reproduce_line
from conformance.wire import Wire

CASES = Path(__file__).parent / "cases"
EXAMINED = pytest.StashKey[Examined]()
RESULTS = pytest.StashKey[Results]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("touchstone", "what is examined")
    group.addoption("--target", help="start and examine: reference, apache:4.3.1, kfake, …")
    group.addoption("--bootstrap", help="examine what runs at host:port[,host:port…]")
    group.addoption("--nodes", type=int, default=1, help="how many brokers --target starts")
    group.addoption("--bug", help="plant a bug in the reference (shows that cases can fail)")
    group.addoption("--priority", default="P2", help="cases up to this priority: P0, P1 or P2")
    group.addoption("--all-versions", action="store_true", help="not only the first and last")
    group.addoption("--results-json", type=Path, help="write the results here")
    group.addoption("--target-directory", type=Path, help="where the target keeps its data")


def pytest_configure(config: pytest.Config) -> None:
    target, bootstrap = config.getoption("--target"), config.getoption("--bootstrap")
    if target and bootstrap:
        raise pytest.UsageError("conformance: give --target or --bootstrap, not both")
    if config.getoption("--bug") and not target:
        raise pytest.UsageError("conformance: --bug needs --target reference")
    if config.getoption("--nodes") != 1 and not target:
        raise pytest.UsageError("conformance: --nodes needs --target, such as apache:4.3.1")
    if config.getoption("--priority") not in ("P0", "P1", "P2"):
        raise pytest.UsageError("conformance: --priority takes P0, P1 or P2")
    if (target or bootstrap) and not config.option.collectonly:
        try:
            config.stash[EXAMINED] = Examined.start(
                target, bootstrap, config.getoption("--bug"),
                config.getoption("--target-directory"), nodes=config.getoption("--nodes"),
            )  # fmt: skip
        except TargetError as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[RESULTS] = Results(config.stash[EXAMINED].name)


def pytest_unconfigure(config: pytest.Config) -> None:
    if EXAMINED in config.stash:
        config.stash[EXAMINED].stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case with versions runs on the first and last that it and the target share."""
    stated = case_of(metafunc.function)
    if stated is None or "version" not in metafunc.fixturenames:
        return
    examined = metafunc.config.stash.get(EXAMINED, None)
    versions = chosen_versions(
        stated, examined, all_versions=metafunc.config.getoption("--all-versions")
    )
    metafunc.parametrize("version", versions, ids=[f"{stated.api}-v{v}" for v in versions])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = ("P0", "P1", "P2").index(config.getoption("--priority"))
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    cases = 0
    for item in items:
        stated = case_of(getattr(item, "function", None))
        cases += stated is not None
        far = stated is not None and int(stated.priority[1]) > wanted
        (dropped if far else kept).append(item)
    if cases and EXAMINED not in config.stash and not config.option.collectonly:
        raise pytest.UsageError(
            "conformance: nothing to examine; give --target NAME or --bootstrap host:port"
        )
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    # Cases with settings of their own come last, those with the same settings together.
    items[:] = sorted(kept, key=_config_of)


def _config_of(item: pytest.Item) -> tuple[tuple[str, str], ...]:
    stated = case_of(getattr(item, "function", None))
    return stated.config if stated is not None else ()


@pytest.fixture
def examined(request: pytest.FixtureRequest) -> Examined:
    """The target under examination, with the settings that the case asks for."""
    return request.config.stash[EXAMINED].for_case(case_of(request.function))


@pytest.fixture
def wire(request: pytest.FixtureRequest, examined: Examined) -> Iterator[Wire]:
    """The raw client of one case. Unsupported if the target lacks what the case needs."""
    stated = case_of(request.function)
    if stated is not None:
        examined.require(stated)
    client = Wire(examined.bootstrap, examined.advertised)
    yield client
    client.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn Unsupported into its own result, and a failure into the five lines people need."""
    report = yield
    stated = case_of(getattr(item, "function", None))
    examined = item.config.stash.get(EXAMINED, None)
    if stated is None or examined is None:
        return report
    examined = examined.running_for(stated)
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, Unsupported):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Unsupported: {error}")
        report.unsupported = str(error)  # type: ignore[attr-defined]
    if call.when == "call" and (died := examined.restart_if_dead()):
        report.outcome = "failed"
        error = AssertionError(f"the target died under this case and was restarted: {died}")
        report.longrepr = str(error)
    if report.failed and error is not None:
        _explain(report, stated, error, item, examined)
    _remember(item, report, stated, error)
    return report


def _explain(
    report: pytest.TestReport, stated: Case, error: BaseException, item: pytest.Item,
    examined: Examined,
) -> None:  # fmt: skip
    lines = [
        f"MUST:      {stated.requirement}",
        f"case:      {stated.id} ({stated.priority})",
        f"spec:      {stated.spec}",
        f"expected:  {_side(error, 'expected', 'the requirement above to hold')}",
        f"actual:    {_side(error, 'actual', f'{type(error).__name__}: {error}')}",
        f"target:    {examined.name}",
        f"reproduce: {reproduce_line(item.nodeid, examined)}",
    ]
    report.sections.append(("Touchstone", "\n".join(lines)))


def _side(error: BaseException, side: str, otherwise: str) -> str:
    """ "error: NONE(0)" of a Deviation; of any other error what it says of itself."""
    if isinstance(error, Deviation):
        return f"{error.what}: {getattr(error, side)}"
    return otherwise


def _remember(
    item: pytest.Item, report: pytest.TestReport, stated: Case, error: BaseException | None
) -> None:
    unsupported = getattr(report, "unsupported", None)
    if report.when == "call" or report.failed or unsupported is not None:
        result = "unsupported" if unsupported is not None else report.outcome
        version = getattr(item, "callspec", None) and item.callspec.params.get("version")  # type: ignore[attr-defined]
        item.config.stash[RESULTS].add(
            stated, item.nodeid, version, result, error, report.duration,
            reproduce_line(item.nodeid, item.config.stash[EXAMINED]),
        )  # fmt: skip
        item.user_properties += [("case", stated.id), ("spec", stated.spec)]


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    if getattr(report, "unsupported", None) is not None:
        return "unsupported", "u", "UNSUPPORTED"
    return None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    results = config.stash.get(RESULTS, None)
    if results is None:
        return
    path = config.getoption("--results-json")
    if path is not None:
        results.write(path)
    terminalreporter.write_sep("=", results.summary_line())


def pytest_report_header(config: pytest.Config) -> str | None:
    examined = config.stash.get(EXAMINED, None)
    if examined is None:
        return None
    return f"examining: {examined.name} at {examined.bootstrap} (pid of this run: {os.getpid()})"
