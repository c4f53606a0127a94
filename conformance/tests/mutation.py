"""pytest plugin: the mutation gate. `pytest conformance/cases -p conformance.tests.mutation
--target reference --mutants-out FILE` runs the cases against every mutant of `mutants`.

Each case runs once as it is, which tells whose answers it sees and how long it takes; then each
mutant meets the cases that see its field, those of its own API first, until one fails.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from conformance import connection
from conformance.case import case_of
from conformance.connection import api_key, check_answer
from conformance.invariants.put_off import PUT_OFF
from conformance.patience import PATIENCE
from conformance.session.keys import EXAMINED
from conformance.tests.mutants import Mutant, judged, mutants_of
from conformance.wire import eventually
from reference_impl.wire import API_NAMES, Struct, decode_response

SLOW_S = 2.0
"""Cases that take longer meet no mutants: there are others, and thousands of meetings."""
START_S = 3.0
"""The time to start another instance of the target, for a case with settings of its own."""
PATIENCE_S = 0.5
"""The seconds for which a case waits for something that a mutant may prevent."""
MEETINGS_MAX = 120
SAVED_EVERY = 25
TRIES_MAX = 12
"""After this many answers that do not show a mutant, further answers are not checked for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation", "the mutation gate")
    group.addoption("--mutants", type=int, help="meet so many, chosen by seed; all unless given")
    group.addoption("--mutants-like", default="", help="only those whose name has this regex")
    group.addoption("--meetings", type=int, default=MEETINGS_MAX, help="give up after so many")
    group.addoption("--mutants-again", type=Path, help="of this file only those that lived")
    group.addoption("--mutants-out", type=Path, help="write each mutant and what became of it")


class Gate:
    """Between the bytes of answers and the cases: breaks them, or notes what they show."""

    def __init__(self) -> None:
        self.mutant: Mutant | None = None
        self.shown: dict[Mutant, bool] = {}
        """Mutant met in this case -> whether a check that every answer gets notices it."""
        self._tries: dict[Mutant, int] = defaultdict(int)
        self._last: dict[str, Struct] = {}
        self._before: Struct | None = None
        self._frame: Any = b""

    def decode(self, frame: Any, key: int, version: int, *rest: Any) -> tuple[int, Struct]:
        """Replace `decode_response`."""
        correlation_id, answer = decode_response(frame, key, version, *rest)
        api = API_NAMES[key]
        self._before, self._frame = self._last.get(api), frame
        if self.mutant is None:
            self._note(api, frame, key, version)
        elif self.mutant.api == api:
            self.mutant.apply(answer, self._before)
        self._last[api] = decode_response(frame, key, version, *rest)[1]
        return correlation_id, answer

    def _note(self, api: str, frame: Any, key: int, version: int) -> None:
        for mutant in mutants_of(api, version):
            if mutant not in self.shown and judged(mutant):
                answer = decode_response(frame, key, version)[1]
                if mutant.apply(answer, self._before):
                    self.shown[mutant] = False

    def check(self, api: str, version: int, asked: Struct, answer: Struct) -> None:
        """In place of `check_answer`."""
        if self.mutant is None:
            for mutant, told in list(self.shown.items()):
                if mutant.api == api and not told and self._tries[mutant] < TRIES_MAX:
                    self.shown[mutant] = self._is_told(mutant, version, asked)
        check_answer(api, version, asked, answer)

    def _is_told(self, mutant: Mutant, version: int, asked: Struct) -> bool:
        """Apply the mutant to the last answer, and return whether the checks of every answer
        (`check_answer`) find it. Return False if the mutant changes nothing."""
        answer = decode_response(self._frame, api_key(mutant.api), version)[1]
        if not mutant.apply(answer, self._before):
            return False
        self._tries[mutant] += 1
        try:
            check_answer(mutant.api, version, asked, answer)
        except Exception:  # whatever it is, the case fails by it
            self._tries[mutant] = 0
            return True
        return False

    @contextmanager
    def in_place(self) -> Iterator[None]:
        setattr(connection, "decode_response", self.decode)  # noqa: B010 - not its own name
        setattr(connection, "check_answer", self.check)  # noqa: B010
        try:
            yield
        finally:
            setattr(connection, "decode_response", decode_response)  # noqa: B010
            setattr(connection, "check_answer", check_answer)  # noqa: B010


@dataclass(frozen=True)
class Meeting:
    """A case that sees a mutant's field. Those that promise most come first."""

    item: pytest.Item
    told: bool
    own: bool
    seconds: float


def _in_order(meetings: list[Meeting], killers: set[pytest.Item]) -> list[Meeting]:
    """Return those that tell first, then killers of the field, then one of each file in turn."""
    by_file: dict[Path, int] = defaultdict(int)
    turns: list[tuple[tuple[bool, bool, int, bool, float], Meeting]] = []
    for meeting in sorted(meetings, key=lambda found: (not found.own, found.seconds)):
        by_file[meeting.item.path] += 1
        turn = by_file[meeting.item.path]
        known = meeting.item in killers
        order = (not meeting.told, not known, turn, not meeting.own, meeting.seconds)
        turns.append((order, meeting))
    return [meeting for _, meeting in sorted(turns, key=lambda found: found[0])]


def pytest_runtestloop(session: pytest.Session) -> bool:
    gate, seen = Gate(), dict[Mutant, list[Meeting]]()
    killers: dict[tuple[str, ...], set[pytest.Item]] = defaultdict(set)
    outcome: dict[Mutant, str | None] = {}
    with gate.in_place():
        for item in session.items:
            for mutant, meeting in _as_it_is(gate, item):
                seen.setdefault(mutant, []).append(meeting)
        PATIENCE.forget()
        for mutant in _chosen(session.config, list(seen)):
            of_field = killers[mutant.api, *mutant.path]
            most = session.config.getoption("--meetings")
            killer = _killer(gate, mutant, _in_order(seen[mutant], of_field)[:most])
            of_field |= {killer} if killer else set()
            outcome[mutant] = killer.nodeid if killer else None
            if len(outcome) % SAVED_EVERY == 0:
                _save(session.config, outcome)
    _report(session.config, outcome)
    return True


def _as_it_is(gate: Gate, item: pytest.Item) -> list[tuple[Mutant, Meeting]]:
    """Run a case without a mutant: those whose field it has seen, if it passed, and soon."""
    stated = case_of(getattr(item, "function", None))
    if stated is None or "restart" in stated.requires:
        return []
    gate.mutant, gate.shown = None, {}
    started = time.monotonic()
    passed = _passes(item)
    took = time.monotonic() - started
    if not passed or took > SLOW_S + (START_S if stated.config else 0):
        return []
    cost = took + (START_S if stated.config else 0)
    return [
        (mutant, Meeting(item, told, mutant.api == stated.api, cost))
        for mutant, told in gate.shown.items()
    ]


def _passes(item: pytest.Item) -> bool:
    PUT_OFF.forget()  # each mutant must be reported again
    item._initrequest()  # type: ignore[attr-defined]  # as plugins do that run a test again
    reports = runtestprotocol(item, log=False, nextitem=None)
    return all(report.outcome == "passed" for report in reports)


def _chosen(config: pytest.Config, mutants: list[Mutant]) -> list[Mutant]:
    like = re.compile(config.getoption("--mutants-like"))
    found = sorted((m for m in mutants if like.search(str(m))), key=str)
    if (again := config.getoption("--mutants-again")) is not None:
        lived = json.loads(again.read_text())["mutants"]
        found = [m for m in found if lived.get(str(m), "") is None]
    count = config.getoption("--mutants")
    if count is None:
        return found
    return sorted(Random(1).sample(found, min(count, len(found))), key=str)


def _killer(gate: Gate, mutant: Mutant, meetings: list[Meeting]) -> pytest.Item | None:
    """Return the case that fails by the mutant and passes without it, or None."""
    for meeting in meetings:
        gate.mutant, item = mutant, meeting.item
        with _impatient():
            killed = not _passes(item)
        # A busy machine fails the impatient: so it fails again, and passes without the mutant.
        killed = killed and (meeting.told or not _passes(item))
        gate.mutant = None
        if killed and (meeting.told or _passes(item)):
            return item
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
    _save(config, outcome)


def _save(config: pytest.Config, outcome: dict[Mutant, str | None]) -> None:
    path = config.getoption("--mutants-out")
    if path is not None:
        killers = {str(mutant): killer for mutant, killer in outcome.items()}
        found = {"target": config.stash[EXAMINED].name, "mutants": killers}
        path.write_text(json.dumps(found, indent=1))
