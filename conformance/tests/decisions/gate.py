"""pytest plugin: the gate of decisions. `pytest conformance/cases -p …decisions.gate
--target reference --decisions-out FILE` starts the reference once for each decision and runs the
cases that should notice it until one fails. Such a case passes on the reference as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from chaos.targets.reference import Reference
from conformance.case import case_of
from conformance.invariants.put_off import PUT_OFF
from conformance.patience import PATIENCE
from conformance.session.keys import EXAMINED
from conformance.target.examination import Examined
from conformance.tests.decisions import Decision, decisions


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("decisions", "the gate of decisions")
    group.addoption("--decisions", default="", help="only those whose name has this regex")
    group.addoption("--decisions-unnoticed", help="try these cases on those that none notices")
    group.addoption("--decisions-out", type=Path, help="write each and the case that noticed it")


def pytest_runtestloop(session: pytest.Session) -> bool:
    config, noticed = session.config, dict[str, str | None]()
    like, wide = re.compile(config.getoption("--decisions")), config.option.decisions_unnoticed
    sound: dict[str, bool] = {}
    for decision in decisions().values():
        if not like.search(decision.name) or not (regex := decision.cases or wide):
            continue
        items = [item for item in _latest(session.items, regex) if _is_sound(config, item, sound)]
        with _decided(config, decision):
            noticed[decision.name] = next((i.nodeid for i in items if _fails(i)), None)
        print(f"{decision.name}: {noticed[decision.name]}", flush=True)
        if (path := config.getoption("--decisions-out")) is not None:
            path.write_text(json.dumps(noticed, indent=1))
    return True


def _latest(items: list[pytest.Item], regex: str) -> list[pytest.Item]:
    """Return the cases that match, each in the last of its versions."""
    last: dict[tuple[object, str], pytest.Item] = {}
    for item in items:
        stated = case_of(getattr(item, "function", None))
        if stated is not None and re.search(regex, f"{stated.id} {stated.function}"):
            last[stated.function, re.sub(r"v\d+\b", "", item.name)] = item
    return list(last.values())


def _is_sound(config: pytest.Config, item: pytest.Item, known: dict[str, bool]) -> bool:
    """Return whether the case passes on the reference as it is."""
    if item.nodeid not in known:
        known[item.nodeid] = _outcomes(item) == {"passed"}
    return known[item.nodeid]


def _outcomes(item: pytest.Item) -> set[str]:
    PUT_OFF.forget()  # each decision must be reported again
    item._initrequest()  # type: ignore[attr-defined]  # as plugins do that run a test again
    return {report.outcome for report in runtestprotocol(item, log=False, nextitem=None)}


def _fails(item: pytest.Item) -> bool:
    """Return whether the case fails twice: a busy machine may fail it once."""
    return "failed" in _outcomes(item) and "failed" in _outcomes(item)


@contextmanager
def _decided(config: pytest.Config, decision: Decision) -> Iterator[None]:
    """Examine a reference that decides otherwise, then one as it is."""
    nodes_of = Reference.nodes_of

    def with_decision(self: Reference, *args: Any) -> Any:
        members, added = nodes_of(self, *args)
        for member in members:
            at = member.command.index("reference_impl.host")
            host = ["conformance.tests.decisions.host", decision.name]
            member.command = [*member.command[:at], *host, *member.command[at + 1 :]]
        return members, added

    setattr(Reference, "nodes_of", with_decision)  # noqa: B010 - not its own name
    try:
        _begin_anew(config)
        yield
    finally:
        setattr(Reference, "nodes_of", nodes_of)  # noqa: B010
        _begin_anew(config)


def _begin_anew(config: pytest.Config) -> None:
    config.stash[EXAMINED].stop()
    PATIENCE.forget()
    config.stash[EXAMINED] = Examined.start("reference", None, None, None)
