"""Test a hunt for planted bugs with faked runs: how often each run is made, and what Ctrl-C
leaves."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chaos.record.run_directory import Scenario
from ci import lanes
from ci.bugs import hunt as module
from ci.bugs.finding import Attempt, Ending
from ci.bugs.hunt import Hunt, chosen
from ci.bugs.scenarios import scenario_of
from ci.errors import UsageError
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

NAMES = ("keep-highest-commit", "compact-newest-away", "shift-cleaned-times")


@dataclass
class Played(Hunt):
    """The checker of a bug finds it with the seed that `shows` names."""

    shows: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.made: list[tuple[str | None, int]] = []

    def _once(self, scenario: Scenario, own_ports: range, title: str) -> Attempt | None:
        self.made.append((scenario.bug, scenario.seed))
        found = scenario.bug is not None and scenario.seed == self.shows
        accusers = BUGS[scenario.bug].caught_by if found and scenario.bug else ()
        validity = Validity.INVALID if found else Validity.VALID
        return Attempt(scenario.seed, validity, accusers, "", "run", scenario.command(), 1.0)


def test_a_bug_is_run_until_it_is_caught_and_then_the_clean_broker(tmp_path: Path) -> None:
    hunt = Played(NAMES[:1], tmp_path, say=lambda line: None, shows=2)
    hunt.perform()
    assert hunt.made == [(NAMES[0], 1), (NAMES[0], 2), (None, 2)]
    assert [each.ending for each in hunt.findings] == [Ending.CAUGHT]


def test_a_bug_that_never_shows_is_given_up(tmp_path: Path) -> None:
    hunt = Played(NAMES[:1], tmp_path, attempts_max=2, say=lambda line: None, shows=9)
    hunt.perform()
    assert hunt.made == [(NAMES[0], 1), (NAMES[0], 2)]
    assert [each.ending for each in hunt.findings] == [Ending.MISSED]


def test_bugs_of_one_scenario_share_the_clean_run(tmp_path: Path) -> None:
    hunt = Played(NAMES, tmp_path, jobs=3, say=lambda line: None)
    hunt.perform()
    clean = [seed for bug, seed in hunt.made if bug is None]
    scenarios = {replace(scenario_of(name, 30, 1), bug=None).command() for name in NAMES}
    assert len(clean) == len(scenarios) < len(NAMES)
    assert [each.name for each in hunt.findings] == list(NAMES)


def test_ctrl_c_keeps_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hunt = Played(NAMES, tmp_path, say=lambda line: None)
    joined = threading.Event()

    def interrupted(threads: list[threading.Thread], deadline: float | None = None) -> None:
        for thread in threads:
            thread.join()
        if not joined.is_set():
            joined.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(lanes, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hunt.perform()
    assert len(hunt.findings) == len(NAMES)


def test_a_defect_of_one_lane_ends_the_hunt(tmp_path: Path) -> None:
    class Broken(Played):
        def _once(self, scenario: Scenario, own_ports: range, title: str) -> Attempt | None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Broken(NAMES, tmp_path, jobs=2, say=lambda line: None).perform()


def test_conformance_cases_can_be_asked_from_a_lane(tmp_path: Path) -> None:
    """Lanes are threads, and only the main thread may set handlers of signals."""
    asked: list[Attempt] = []
    cases = "test_no_case_has_this_name"
    thread = threading.Thread(target=lambda: asked.append(module.examined(cases, None)))
    thread.start()
    thread.join()
    assert "no case matches" in asked[0].reason and asked[0].validity is None


def test_names_come_repeated_or_with_commas_and_unknown_ones_are_refused() -> None:
    assert chosen([f"{NAMES[0]},{NAMES[1]}", NAMES[2]]) == list(NAMES)
    assert chosen([]) == list(BUGS)
    with pytest.raises(UsageError, match="lose-comits: there is no such bug"):
        chosen(["lose-comits"])
    with pytest.raises(UsageError, match="names nothing"):
        chosen([","])
