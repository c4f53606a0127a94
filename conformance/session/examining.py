"""The pytest plugin of the conformance suite: --target or --bootstrap, versions, three results,
reports.

`pytest conformance --bootstrap host:9092` tests any Kafka-compatible address; `--target
apache:4.3.1` starts one first, and restarts it if a case kills it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from chaos.run.interrupts import Interrupts
from chaos.values.protocols import TargetError
from conformance.brokers import Brokers
from conformance.case import Case, Deviation, Unsupported, case_of
from conformance.connection import note_unread_answers
from conformance.exchanges import EXCHANGES, KEPT
from conformance.invariants.put_off import PUT_OFF
from conformance.patience import PATIENCE
from conformance.refusals import REFUSALS
from conformance.reporting.evidence import Evidence
from conformance.reporting.reading import KINDS
from conformance.reporting.results import Results, reproduce_line
from conformance.session import selection
from conformance.session.again import Repeats, runs_again
from conformance.session.bar import Bar
from conformance.session.ending import Ending
from conformance.session.limit import limited
from conformance.session.options import add_options, refuse_impossible, set_terms
from conformance.target.examination import Examined, chosen_versions
from conformance.target.explained import why_unsupported
from conformance.target.settings import require_auto_creation
from conformance.terms import TERMS
from conformance.wire import Wire

CASES = Path(__file__).parent.parent / "cases"
EXAMINED = pytest.StashKey[Examined]()
RESULTS = pytest.StashKey[Results]()
ENDING = pytest.StashKey[Ending]()
INTERRUPTS = pytest.StashKey[Interrupts]()
SILENT = -2
"""The verbosity (-qq) at which no progress is printed."""
WITH_TRACEBACK = ("long", "short", "line", "native")
"""The values of --tb that ask for Python's traceback of a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    target, bootstrap = config.getoption("--target"), config.getoption("--bootstrap")
    refuse_impossible(config)
    set_terms(config)
    if (target or bootstrap) and not config.option.collectonly:
        ending = Ending(config.getoption("--max-failures"), config.getoption("--max-time"))
        try:
            config.stash[EXAMINED] = Examined.start(
                target,
                bootstrap,
                config.getoption("--bug"),
                config.getoption("--target-directory"),
                nodes=config.getoption("--nodes"),
            )
        except TargetError as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[RESULTS] = Results(
            config.stash[EXAMINED].name,
            config.getoption("--results-json"),
            config.getoption("--results-junit"),
            advertised=config.stash[EXAMINED].advertised,
        )
        PATIENCE.forget()
        PUT_OFF.forget()
        # Without this, a second signal would interrupt the end of pytest with a traceback.
        config.stash[INTERRUPTS] = Interrupts(lambda: ending.end_now("interrupted"))
        config.stash[INTERRUPTS].__enter__()
        config.stash[ENDING] = ending
        config.pluginmanager.register(Repeats())
        config.pluginmanager.register(Bar())


def pytest_unconfigure(config: pytest.Config) -> None:
    if ENDING in config.stash:
        config.stash[ENDING].stop()
        config.stash[INTERRUPTS].shield()
    if EXAMINED in config.stash:
        config.stash[EXAMINED].stop(config.stash[ENDING].removal_s())
    if INTERRUPTS in config.stash:
        config.stash[INTERRUPTS].__exit__()
        PATIENCE.forget()  # a caller in this process may continue


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a case that takes a version in the first and the last version that it and the target
    share, or in all of them with --all-versions."""
    stated = case_of(metafunc.function)
    if stated is None or "version" not in metafunc.fixturenames:
        return
    examined = metafunc.config.stash.get(EXAMINED, None)
    versions = chosen_versions(
        stated, examined, all_versions=metafunc.config.getoption("--all-versions")
    )
    metafunc.parametrize("version", versions, ids=[f"{stated.api}-v{v}" for v in versions])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = selection.Selection.of(config)
    cases = {item: stated for item in items if (stated := _case(item)) is not None}
    if cases and EXAMINED not in config.stash and not config.option.collectonly:
        raise pytest.UsageError(
            "conformance: nothing to examine; give --target NAME or --bootstrap host:port"
        )
    known = {stated.id for stated in cases.values()}
    if cases and (why := selection.why_unknown(wanted.ids, wanted.areas, known)):
        raise pytest.UsageError(f"conformance: {why}")
    for item, stated in cases.items():
        item.extra_keyword_matches.add(stated.id)  # -k IDEM-03
    dropped = [item for item, stated in cases.items() if not wanted.takes(stated)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    gone = set(dropped)
    items[:] = sorted((item for item in items if item not in gone), key=_turn)


def _case(item: pytest.Item) -> Case | None:
    return case_of(getattr(item, "function", None))


def pytest_collection_finish(session: pytest.Session) -> None:
    if RESULTS in session.config.stash:
        cases = [item for item in session.items if _case(item) is not None]
        session.config.stash[RESULTS].planned = len(cases)
        session.config.stash[ENDING].begin()


def _turn(item: pytest.Item) -> selection.Turn:
    """Return the sort key of an item; one that is no case comes first."""
    stated = _case(item)
    return selection.turn(stated, item.path) if stated is not None else (False, (), 0)


@pytest.fixture
def examined(request: pytest.FixtureRequest) -> Examined:
    """Provide the target under test, with the settings that the case demands."""
    return request.config.stash[EXAMINED].for_case(case_of(request.function))


@pytest.fixture
def wire(request: pytest.FixtureRequest, examined: Examined) -> Iterator[Wire]:
    """Provide the raw client of one case. Raise Unsupported if the target lacks what the case
    needs."""
    stated = case_of(request.function)
    if stated is not None:
        examined.require(stated, selection.version_of(request.node))
    if request.path.stem in selection.HARMFUL:
        TERMS.require("restart", "a case that sends malformed bytes")
    EXCHANGES.forget()
    REFUSALS.forget()
    PATIENCE.note_return(0.0)
    client = Wire(examined.bootstrap, examined.advertised)
    client.is_shared = examined.tidying is not None
    try:
        if stated is not None and "auto-create" in stated.requires:
            require_auto_creation(client)
        yield client
    finally:
        client.close()


@contextmanager
def _interruptions_named(session: pytest.Session) -> Iterator[None]:
    """Let pytest print the reason of an interruption, instead of its hint at --full-trace."""
    try:
        yield
    except session.Interrupted:
        raise
    except KeyboardInterrupt:
        ending = session.config.stash.get(ENDING, None)
        reason = ending.reason if ending is not None else None
        raise session.Interrupted(reason or "interrupted") from None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    with _interruptions_named(session):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    with _interruptions_named(session):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (stated := _case(item)) is not None:
        PUT_OFF.begin(stated.api)
        PATIENCE.begin(stated.function)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with limited() if _case(item) is not None else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Convert Unsupported into its own result, and a failure into the lines that a reader needs."""
    report = yield
    stated = case_of(getattr(item, "function", None))
    first = item.config.stash.get(EXAMINED, None)
    if stated is None or first is None:
        return report
    examined, ending = first.running_for(stated), item.config.stash[ENDING]
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
        return report
    exchange: Sequence[Mapping[str, object]] = EXCHANGES.told()
    went_well = error is None or isinstance(error, Unsupported)
    if call.when == "call" and (broken := PUT_OFF.end(passed=went_well)):
        report.outcome = "failed"
        error, exchange = broken
    error = _explained(error, examined, stated)
    if isinstance(error, Unsupported):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Unsupported: {error}")
        report.unsupported = str(error)  # type: ignore[attr-defined]
    died = _revived(examined, ending, item.name) if call.when == "call" else None
    if ending.reason is None and runs_again(item, examined, died, error):
        return report
    if died:
        report.outcome = "failed"
        error = Deviation("the target after this case", "it answers", died)
    if report.failed and error is not None:
        _explain(report, stated, error, item, examined)
        PUT_OFF.tell(error)
    _remember(item, report, stated, error, exchange)
    if ending.reason is not None:
        item.session.shouldstop = ending.reason
    return report


def _revived(examined: Examined, ending: Ending, case: str) -> str | None:
    """Return a sentence about a target that died during the case, or None if it lives. Restart it,
    or wait for one not started here; if it stays away, end the run with this case."""
    try:
        died = examined.restart_if_dead()
    except TargetError as error:
        ending.end(f"the target is gone since {case}: {error}")
        return f"the target died during this case and did not come back: {error}"
    if died is None:
        return None
    back = "was restarted" if examined.can_restart else "came back by itself"
    return f"the target died during this case and {back}: {died}"


def _explain(
    report: pytest.TestReport,
    stated: Case,
    error: BaseException,
    item: pytest.Item,
    examined: Examined,
) -> None:
    expected, actual = Evidence.of(error, stated).sides()
    lines = [
        f"MUST:      {stated.requirement}",
        f"case:      {stated.id} ({stated.priority})",
        f"spec:      {stated.spec}",
        f"expected:  {expected}",
        f"actual:    {actual}",
        f"target:    {examined.name}",
        f"reproduce: {reproduce_line(_name_of(item), examined)}",
    ]
    if item.config.option.tbstyle in WITH_TRACEBACK:
        report.sections.append(("Touchstone", "\n".join(lines)))
    else:
        report.longrepr = "\n".join(lines)


def _name_of(item: pytest.Item) -> str:
    """Return the name of a case for `touchstone conform --only`: its file is relative to the folder
    of the packages, whatever folder pytest was started in."""
    if not item.path.is_relative_to(CASES):
        return item.nodeid
    _file, *rest = item.nodeid.split("::")
    return "::".join([item.path.relative_to(CASES.parent.parent).as_posix(), *rest])


def _explained(
    error: BaseException | None, examined: Examined, stated: Case
) -> BaseException | None:
    """Return Unsupported instead of a failure that a setting of the target explains, else the error
    itself, or None if there was none."""
    if error is None or isinstance(error, Unsupported):
        return error
    note_unread_answers()
    asking = Brokers(examined.bootstrap, examined.advertised)
    try:
        why = why_unsupported(asking, REFUSALS, dict(stated.config))
    finally:
        asking.close()
    return Unsupported(why) if why is not None else error


def _remember(
    item: pytest.Item,
    report: pytest.TestReport,
    stated: Case,
    error: BaseException | None,
    exchange: Sequence[Mapping[str, object]],
) -> None:
    unsupported = getattr(report, "unsupported", None)
    if report.when == "call" or report.failed or unsupported is not None:
        result = "unsupported" if unsupported is not None else report.outcome
        item.config.stash[RESULTS].add(
            stated,
            item.nodeid,
            selection.version_of(item),
            result,
            Evidence.of(error, stated).beside(_shown(exchange, result, item.config)),
            report.duration,
            reproduce_line(_name_of(item), item.config.stash[EXAMINED]),
        )
        item.config.stash[ENDING].note(result, error)
        item.user_properties += [("case", stated.id), ("spec", stated.spec)]


def _shown(
    exchange: Sequence[Mapping[str, object]], result: str, config: pytest.Config
) -> Sequence[Mapping[str, object]]:
    """Return the messages that the results contain of a case with this result."""
    if result == "failed":
        return exchange[-KEPT:]
    return exchange if result == "passed" and config.getoption("--results-messages") else ()


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, str] | None:
    if getattr(report, "unsupported", None) is not None:
        category, letter, word = "unsupported", "u", "UNSUPPORTED"
    elif config.option.verbose > SILENT:
        return None
    else:
        category, letter, word = report.outcome if report.when == "call" else "", "", ""
        category = "error" if report.failed and not category else category
    return (category, letter, word) if config.option.verbose > SILENT else (category, "", "")


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Iterator[None]:
    """Save the results, whatever ended the session. After an interruption, pytest ends the fixtures
    of the interrupted case here, and one that fails must not take the results along."""
    results = session.config.stash.get(RESULTS, None)
    if results is None:
        return (yield)
    try:
        yield
    except Exception as error:
        print(f"conformance: a fixture could not end: {type(error).__name__}: {error}")
    ending = session.config.stash[ENDING]
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        ending.end_now("interrupted")
    elif exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        ending.end("the examination itself failed; see the lines above")
    elif results.not_run:
        ending.end("something else ended it before its last case; see the lines above")
    ending.stop()
    results.ended = ending.reason
    for sentence in results.save():
        print(f"conformance: {sentence}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if (results := config.stash.get(RESULTS, None)) is None:
        return
    by_area = results.by_area()
    for area, counts in by_area.items() if config.option.verbose > SILENT else ():
        if len(by_area) > 1:
            told = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
            colour = "red" if counts["failed"] else "green" if counts["passed"] else "yellow"
            terminalreporter.write_line(f"{area:<6} {told}", **{colour: True})
    if results.ended is not None:
        terminalreporter.write_line(f"ended early: {results.ended}")
    terminalreporter.write_sep("=", results.summary_line())


def pytest_report_header(config: pytest.Config) -> str | None:
    if (examined := config.stash.get(EXAMINED, None)) is None:
        return None
    return f"examining: {examined.name} at {examined.bootstrap} (pid of this run: {os.getpid()})"
