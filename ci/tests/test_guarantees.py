"""The guarantee tables: which runs settle a cell, and what an open one makes of the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.record.run_directory import Scenario
from chaos.scenarios.effects import Effect, Effects
from chaos.scenarios.tables import Cell, cells
from chaos.values.protocols import TargetError
from ci import guarantees
from ci.attack import Judged
from ci.guarantees import Answer, Shown, Tables, list_scenarios, markdown, run_tables
from linearizability.verdict import Validity, Verdict

NEVER = Cell(
    "a table",
    "a row",
    "a failure",
    Effect.LOST,
    False,
    Scenario("reference", "appends", "kill", 1, 15.0, 1),
)
MAY = Cell(
    "a table",
    "another row",
    "a failure",
    Effect.LOST,
    True,
    Scenario("reference", "appends-acks0", "kill", 1, 15.0, 1),
)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> dict[int, Effects]:
    """Seed -> what a run with it shows; the rest lose nothing."""
    shows: dict[int, Effects] = {}

    def attack(scenario: Scenario, runs: Path, _engine: str) -> Judged:
        run = Path(f"run-{scenario.seed}")
        return Judged(run, Verdict(Validity.VALID, "local", {}), {})

    def effects(run: Path) -> Effects:
        return shows.get(int(run.name.removeprefix("run-")), Effects(sent=9))

    monkeypatch.setattr(guarantees, "attack_as_planned", attack)
    monkeypatch.setattr(guarantees, "effects_of", effects)
    return shows


@pytest.mark.parametrize(
    ("cell", "effects", "holds"),
    [
        (NEVER, Effects(sent=9), True),
        (NEVER, Effects(sent=9, lost=1), False),
        (NEVER, Effects(sent=9, doubled=1), True),
        (MAY, Effects(sent=9, lost=1), True),
        (MAY, Effects(sent=9), None),
        (NEVER, Effects(problem="no log was read"), None),
        (MAY, Effects(problem="no log was read"), None),
    ],
)
def test_a_cell_is_settled_by_what_a_run_shows(
    cell: Cell, effects: Effects, holds: bool | None
) -> None:
    assert Answer(cell, Shown(cell.scenario, effects, "valid")).holds is holds


def test_what_may_happen_is_tried_with_seed_after_seed(
    played: dict[int, Effects], tmp_path: Path
) -> None:
    played[2] = Effects(sent=9, lost=3)
    answer = Tables(tmp_path, seeds=3).answer(MAY)
    assert answer.holds is True
    assert answer.text == "may be lost ✓ 3 of 9 lost (seed 2, valid)"


def test_what_no_seed_shows_stays_open(played: dict[int, Effects], tmp_path: Path) -> None:
    answer = Tables(tmp_path, seeds=3).answer(MAY)
    assert answer.holds is None
    assert answer.text == "may be lost not shown: 0 of 9 lost (seed 3, valid)"


def test_what_must_never_happen_is_run_once(played: dict[int, Effects], tmp_path: Path) -> None:
    tables = Tables(tmp_path, seeds=3)
    assert tables.answer(NEVER).holds is True
    assert len(tables.done) == 1


@pytest.mark.parametrize(("first", "status"), [(Effects(sent=9), 3), (Effects(sent=9, lost=1), 1)])
def test_a_broken_promise_is_red_and_an_open_cell_unknown(
    first: Effects, status: int, played: dict[int, Effects], tmp_path: Path
) -> None:
    played[1] = first
    text, found = run_tables(["reference"], tmp_path, seeds=1)
    assert found == status
    assert "**reference: durability**" in text
    assert all(f"| {cell.row} |" in text for cell in cells("reference"))


def test_a_target_that_cannot_be_started_is_told_in_the_cell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def attack(*_: object) -> Judged:
        raise TargetError("there is no Java here")

    monkeypatch.setattr(guarantees, "attack_as_planned", attack)
    assert Tables(tmp_path).answer(NEVER).text == "not run: there is no Java here"


def test_a_target_without_tables_says_so() -> None:
    assert "no guarantee tables for kfake" in markdown("kfake", [])


def test_the_list_has_every_command_with_its_promise() -> None:
    listed = list_scenarios(["reference"])
    for cell in cells("reference"):
        assert cell.scenario.command() in listed
