"""pytest plugin: the mutation gate. `pytest conformance/cases -p conformance.tests.mutation
--target reference --mutants-out FILE` runs the cases against every mutant of `mutants`.

Each case runs once as it is, which tells whose answers it sees and how long it takes; then each
mutant meets the cases that see its field, those of its own API first, until one fails.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from conformance import connection
from conformance.case import case_of
from conformance.conftest import EXAMINED
from conformance.tests.mutants import Mutant, judged, mutants_of
from conformance.wire import eventually
from reference_impl.wire import API_NAMES, Struct, decode_response

SLOW_S = 2.0
"""Cases that take longer meet no mutants: there are others, and thousands of meetings."""
PATIENCE_S = 0.5
"""How long a case waits for what a mutant keeps from it."""
MEETINGS_MAX = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation", "the mutation gate")
    group.addoption("--mutants", type=int, help="meet so many, chosen by seed; all unless given")
    group.addoption("--mutants-of", default="", help="of these APIs only, with commas")
    group.addoption("--mutants-out", type=Path, help="write each mutant and what became of it")


class Gate:
    """Between the bytes of answers and the cases: breaks them, or notes what they show."""

    def __init__(self) -> None:
        self.mutant: Mutant | None = None
        self.shown: dict[Mutant, None] = {}
        self._last: dict[str, Struct] = {}

    def decode(self, frame: Any, key: int, version: int, *rest: Any) -> tuple[int, Struct]:
        """Replace `decode_response`."""
        correlation_id, answer = decode_response(frame, key, version, *rest)
        api = API_NAMES[key]
        if self.mutant is None:
            self._note(api, frame, key, version)
        elif self.mutant.api == api:
            self.mutant.apply(answer, self._last.get(api))
        self._last[api] = decode_response(frame, key, version, *rest)[1]
        return correlation_id, answer

    def _note(self, api: str, frame: Any, key: int, version: int) -> None:
        for mutant in mutants_of(api, version):
            if mutant not in self.shown and judged(mutant):
                answer = decode_response(frame, key, version)[1]
                if mutant.apply(answer, self._last.get(api)):
                    self.shown[mutant] = None

    @contextmanager
    def in_place(self) -> Iterator[None]:
        setattr(connection, "decode_response", self.decode)  # noqa: B010 - not its own name
        try:
            yield
        finally:
            setattr(connection, "decode_response", decode_response)  # noqa: B010


def pytest_runtestloop(session: pytest.Session) -> bool:
    gate, seen = Gate(), dict[Mutant, list[tuple[bool, float, pytest.Item]]]()
    with gate.in_place():
        for item in session.items:
            for mutant, own, seconds in _as_it_is(gate, item):
                seen.setdefault(mutant, []).append((not own, seconds, item))
        wanted = _chosen(session.config, list(seen))
        connection.PATIENCE.forget()
        outcome = {mutant: _killer(gate, mutant, seen[mutant]) for mutant in wanted}
    _report(session.config, outcome)
    return True


def _as_it_is(gate: Gate, item: pytest.Item) -> list[tuple[Mutant, bool, float]]:
    """Run a case without a mutant: those whose field it has seen, if it passed, and soon."""
    stated = case_of(getattr(item, "function", None))
    if stated is None or "restart" in stated.requires or stated.config:
        return []
    gate.mutant, gate.shown = None, {}
    started = time.monotonic()
    passed = _passes(item)
    took = time.monotonic() - started
    if not passed or took > SLOW_S:
        return []
    return [(mutant, mutant.api == stated.api, took) for mutant in gate.shown]


def _passes(item: pytest.Item) -> bool:
    item._initrequest()  # type: ignore[attr-defined]  # as plugins do that run a test again
    reports = runtestprotocol(item, log=False, nextitem=None)
    return all(report.outcome == "passed" for report in reports)


def _chosen(config: pytest.Config, mutants: list[Mutant]) -> list[Mutant]:
    only = set(filter(None, config.getoption("--mutants-of").split(",")))
    found = sorted((m for m in mutants if not only or m.api in only), key=str)
    count = config.getoption("--mutants")
    return found if count is None else sorted(Random(1).sample(found, min(count, len(found))),
                                              key=str)  # fmt: skip


def _killer(gate: Gate, mutant: Mutant, cases: list[tuple[bool, float, pytest.Item]]) -> str | None:
    """Return the name of a case that fails by the mutant and passes without it, or None."""
    for _, _, item in sorted(cases, key=lambda found: found[:2])[:MEETINGS_MAX]:
        gate.mutant = mutant
        with _impatient():
            killed = not _passes(item)
        # A busy machine fails the impatient: so it fails again, and passes without the mutant.
        killed = killed and not _passes(item)
        gate.mutant = None
        if killed and _passes(item):
            return item.nodeid
    return None


@contextmanager
def _impatient() -> Iterator[None]:
    patience = eventually.__defaults__
    eventually.__defaults__ = (PATIENCE_S,)
    try:
        yield
    finally:
        eventually.__defaults__ = patience


def _report(config: pytest.Config, outcome: dict[Mutant, str | None]) -> None:
    by_api: dict[str, list[bool]] = defaultdict(list)
    for mutant, killer in outcome.items():
        by_api[mutant.api].append(killer is not None)
    for api, killed in sorted(by_api.items()):
        print(f"\n{api}: {sum(killed)} of {len(killed)} killed", end="")
    survivors = [str(mutant) for mutant, killer in outcome.items() if killer is None]
    print(f"\nin all {len(outcome) - len(survivors)} of {len(outcome)}; survivors:")
    print(*survivors, sep="\n")
    path = config.getoption("--mutants-out")
    if path is not None:
        killers = {str(mutant): killer for mutant, killer in outcome.items()}
        found = {"target": config.stash[EXAMINED].name, "mutants": killers}
        path.write_text(json.dumps(found, indent=1))
