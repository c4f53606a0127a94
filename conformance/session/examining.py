"""The pytest plugin of the conformance suite: --target or --bootstrap, versions, three results,
reports.

`pytest conformance --bootstrap host:9092` tests any Kafka-compatible address; `--target
apache:4.3.1` starts one first, and restarts it if a case kills it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from chaos.run.interrupts import Interrupts
from chaos.values.protocols import TargetError
from conformance.case import case_of
from conformance.exchanges import EXCHANGES
from conformance.invariants.put_off import PUT_OFF
from conformance.patience import PATIENCE
from conformance.refusals import REFUSALS
from conformance.reporting.reading import KINDS
from conformance.reporting.results import Results
from conformance.session import judging, selection
from conformance.session.again import Repeats
from conformance.session.bar import Bar
from conformance.session.ending import Ending
from conformance.session.jobs import Jobs, share_out
from conformance.session.keys import ENDING, EXAMINED, INTERRUPTS, RESULTS
from conformance.session.limit import limited
from conformance.session.options import add_options, refuse_impossible, set_terms
from conformance.session.worker import WORKER, Interruptions, RepeatsInTurn, Worker
from conformance.target.examination import Examined, chosen_versions, is_elsewhere
from conformance.target.settings import require_auto_creation
from conformance.terms import TERMS
from conformance.wire import Wire

SILENT = -2
"""The verbosity (-qq) at which no progress is printed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    share_out(config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): one process runs these cases (--jobs)")
    refuse_impossible(config)
    set_terms(config)
    is_named = config.getoption("--target") or config.getoption("--bootstrap")
    if not is_named or config.option.collectonly:
        return
    worker = Worker.of(config)
    try:
        if worker is not None:
            _begin_beside_others(config, worker)
        elif config.getoption("--jobs") > 1:
            _begin_to_share_out(config)
        else:
            _begin(config)
    except TargetError as error:
        raise pytest.UsageError(str(error)) from error


def _begin(config: pytest.Config) -> None:
    """Start the target, and prepare to run all cases here. Raise TargetError if it does not
    start."""
    ending = Ending(config.getoption("--max-failures"), config.getoption("--max-time"))
    examined = config.stash[EXAMINED] = _started(config)
    config.stash[RESULTS] = Results(examined.name, *_files(config), advertised=examined.advertised)
    PATIENCE.forget()
    PUT_OFF.forget()
    # Without this, a second signal would interrupt the end of pytest with a traceback.
    config.stash[INTERRUPTS] = Interrupts(lambda: ending.end_now("interrupted"))
    config.stash[INTERRUPTS].__enter__()
    config.stash[ENDING] = ending
    config.pluginmanager.register(Repeats())
    config.pluginmanager.register(Bar())


def _begin_to_share_out(config: pytest.Config) -> None:
    """Prepare to have other processes run the cases. A cluster that they share is reached, and what
    earlier examinations left there is removed, before they begin. Raise TargetError if it cannot be
    reached, or if there is no such target."""
    target, bootstrap = config.getoption("--target"), config.getoption("--bootstrap")
    config.stash[ENDING] = Ending(
        config.getoption("--max-failures"), config.getoption("--max-time")
    )
    is_shared = is_elsewhere(target, bootstrap, config.getoption("--bug"))
    config.stash[RESULTS] = Results(str(target or bootstrap), *_files(config))
    if is_shared:
        config.stash[EXAMINED] = _started(config)
    jobs = Jobs(config, config.getoption("--jobs"), is_shared=is_shared)
    config.pluginmanager.register(jobs)
    config.stash[INTERRUPTS] = jobs
    jobs.__enter__()


def _begin_beside_others(config: pytest.Config, worker: Worker) -> None:
    """Start the target, and prepare to run the cases that this process is given. Raise UsageError
    if the target does not start, or if it is interrupted before that."""
    ending = Ending(None, config.getoption("--max-time"), began=worker.began)
    interruptions = config.stash[INTERRUPTS] = Interruptions(ending)
    interruptions.__enter__()
    worker.settle_in()
    try:
        with interruptions.raised(), worker.refusals_told():
            config.stash[EXAMINED] = _started(config, worker)
    except KeyboardInterrupt as error:
        raise pytest.UsageError("interrupted") from error
    PATIENCE.forget()
    PUT_OFF.forget()
    config.stash[WORKER] = worker
    config.stash[ENDING] = ending
    config.pluginmanager.register(RepeatsInTurn())


def _started(config: pytest.Config, worker: Worker | None = None) -> Examined:
    """Start or reach the target that the options name. Raise TargetError if that fails."""
    directory = config.getoption("--target-directory")
    return Examined.start(
        config.getoption("--target"),
        config.getoption("--bootstrap"),
        config.getoption("--bug"),
        directory / str(worker.number) if directory and worker else directory,
        nodes=config.getoption("--nodes"),
    )


def _files(config: pytest.Config) -> tuple[Any, Any]:
    return config.getoption("--results-json"), config.getoption("--results-junit")


def pytest_unconfigure(config: pytest.Config) -> None:
    if ENDING in config.stash:
        config.stash[ENDING].stop()
    if INTERRUPTS in config.stash:
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
    worker = config.stash.get(WORKER, None)
    with nullcontext() if worker is None else worker.refusals_told():
        _select(config, items)


def _select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the wanted cases, in the order in which one process runs them. Raise UsageError if
    there is nothing to examine, or no such case."""
    wanted = selection.Selection.of(config)
    cases = {item: stated for item in items if (stated := selection.case_in(item)) is not None}
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


def pytest_collection_finish(session: pytest.Session) -> None:
    if RESULTS in session.config.stash:  # not where others keep them
        cases = [item for item in session.items if selection.case_in(item) is not None]
        session.config.stash[RESULTS].planned = len(cases)
        session.config.stash[ENDING].begin()


def _turn(item: pytest.Item) -> selection.Turn:
    """Return the sort key of an item; one that is no case comes first."""
    stated = selection.case_in(item)
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
    if (stated := selection.case_in(item)) is not None:
        PUT_OFF.begin(stated.api)
        PATIENCE.begin(stated.function)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with limited() if selection.case_in(item) is not None else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Convert Unsupported into its own result, and a failure into the lines that a reader needs."""
    return judging.judged(item, call, (yield))


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
    worker = session.config.stash.get(WORKER, None)
    if results is None and worker is None:
        return (yield)
    try:
        yield
    except Exception as error:
        print(f"conformance: a fixture could not end: {type(error).__name__}: {error}")
    if worker is not None:
        worker.clear_up(session.config)
    if results is None:
        return
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
