"""Turn the report of a case into its result: passed, failed or unsupported, with the evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from chaos.values.protocols import TargetError
from conformance.brokers import Brokers
from conformance.case import Case, Deviation, Unsupported
from conformance.connection import note_unread_answers
from conformance.exchanges import EXCHANGES, KEPT
from conformance.invariants.put_off import PUT_OFF
from conformance.refusals import REFUSALS
from conformance.reporting.evidence import Evidence
from conformance.reporting.results import Run, entry_of, reproduce_line
from conformance.session import selection
from conformance.session.again import HAS_COMPANY, IS_LOST, reasons_of, runs_again
from conformance.session.ending import Ending
from conformance.session.keys import ENDING, EXAMINED, RESULTS
from conformance.session.worker import WORKER
from conformance.target.examination import Examined
from conformance.target.explained import why_unsupported

WITH_TRACEBACK = ("long", "short", "line", "native")
"""The values of --tb that ask for Python's traceback of a failure."""


def judged(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> pytest.TestReport:
    """Return the report of a phase of a case, changed where the target says more than pytest knows,
    and remember the result. Return other reports unchanged."""
    stated = selection.case_in(item)
    first = item.config.stash.get(EXAMINED, None)
    if stated is None or first is None or IS_LOST in item.stash:
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
    raised, error = error, _explained(error, examined, stated)
    if isinstance(error, Unsupported):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Unsupported: {error}")
        report.unsupported = str(error)  # type: ignore[attr-defined]
    died = _revived(examined, ending, item.name) if call.when == "call" else None
    if died and ending.reason is not None and item.stash.get(HAS_COMPANY, False):
        item.stash[IS_LOST] = True
        return report
    if ending.reason is None and runs_again(item, examined, died, error, raised):
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
    if not item.path.is_relative_to(selection.CASES):
        return item.nodeid
    _file, *rest = item.nodeid.split("::")
    return "::".join([item.path.relative_to(selection.CASES.parent.parent).as_posix(), *rest])


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
        reproduce = reproduce_line(_name_of(item), item.config.stash[EXAMINED])
        run = Run(item.nodeid, selection.version_of(item), report.duration, reproduce)
        evidence = Evidence.of(error, stated).beside(_shown(exchange, result, item.config))
        entry = entry_of(stated, run, result, evidence)
        ending = item.config.stash[ENDING]
        ending.note(result, error)
        if WORKER in item.config.stash:  # the process that distributes the cases keeps the results
            told = {"entry": entry, "ends": ending.reason, "again": reasons_of(item)}
            report.conformance = json.dumps(told)  # type: ignore[attr-defined]
        else:
            item.config.stash[RESULTS].add(entry)
        item.user_properties += [("case", stated.id), ("spec", stated.spec)]


def _shown(
    exchange: Sequence[Mapping[str, object]], result: str, config: pytest.Config
) -> Sequence[Mapping[str, object]]:
    """Return the messages that the results contain of a case with this result."""
    if result == "failed":
        return exchange[-KEPT:]
    return exchange if result == "passed" and config.getoption("--results-messages") else ()
