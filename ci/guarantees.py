"""Run `touchstone scenarios --table`: every cell of the guarantee tables, reported with seed and
verdict.

A cell that says "never" is green if its run does not show the anomaly. A cell that says "may" is
green only if the run of some seed has shown it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.record import run_directory
from chaos.record.run_directory import RunDirectoryError, Scenario
from chaos.scenarios.effects import Effects, effects_of
from chaos.scenarios.fitting import why_not
from chaos.scenarios.regression import regressions
from chaos.scenarios.tables import Cell, cells
from chaos.targets import parse_target
from chaos.values.protocols import TargetError
from ci.attack import attack_as_planned, judge_for_the_record
from linearizability.judging import VERDICT_FILE

SEEDS = 3


@dataclass(frozen=True)
class Shown:
    """The result of one run, with the verdict that its checkers reached."""

    scenario: Scenario
    effects: Effects
    verdict: str
    run: str = ""


@dataclass(frozen=True)
class Answer:
    """A cell of a table, with the run that decides it, or else the last run tried. why_not: why no
    run was made."""

    cell: Cell
    shown: Shown | None
    why_not: str = ""

    @property
    def holds(self) -> bool | None:
        """Return whether the promise holds, or None if that is unknown."""
        if self.shown is None or self.shown.effects.problem:
            return None
        seen = self.shown.effects.count(self.cell.effect) > 0
        if self.cell.may:
            return True if seen else None
        return not seen

    @property
    def text(self) -> str:
        if self.shown is None:
            return f"not run: {self.why_not}"
        effects, scenario = self.shown.effects, self.shown.scenario
        told = f"seed {scenario.seed}, {self.shown.verdict}"
        if effects.problem:
            return f"undecided: {effects.problem} ({told})"
        count = f"{effects.count(self.cell.effect):,} of {effects.sent:,} {self.cell.effect.value}"
        word = {True: "✓", False: "✗", None: "not shown:"}[self.holds]
        return f"{self.cell.promise} {word} {count} ({told})"


@dataclass
class Tables:
    """The results of the scenarios that cells need, by their commands; each scenario is run once,
    when a cell first needs it. reuse: accept the results of runs that already exist."""

    runs: Path
    seeds: int = SEEDS
    reuse: bool = False
    engine: str = "auto"
    done: dict[str, Shown] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reuse:
            for directory in sorted(self.runs.glob("*/run.json")):
                self._take(directory.parent)

    def answer(self, cell: Cell) -> Answer:
        """Return the answer for a cell: run its scenario with further seeds until a run has shown
        the outcome that the cell allows. A cell that says "never" gets one seed. If the scenario
        cannot run, the answer says why."""
        if reason := why_not(cell.scenario):
            return Answer(cell, None, reason)
        answer = Answer(cell, None, "no seed was tried")
        for seed in range(1, (self.seeds if cell.may else 1) + 1):
            try:
                answer = Answer(cell, self._shown(cell.with_seed(seed)))
            except TargetError as error:
                return Answer(cell, None, str(error))
            if answer.holds is not None:
                break
        return answer

    def _shown(self, scenario: Scenario) -> Shown:
        command = scenario.command()
        if command not in self.done:
            print(f"\n== {command}", flush=True)
            judged = attack_as_planned(scenario, self.runs, self.engine)
            validity = judged.verdict.validity.value
            self.done[command] = Shown(
                scenario, effects_of(judged.path), validity, judged.path.name
            )
        return self.done[command]

    def _take(self, directory: Path) -> None:
        """Use the result of an earlier run, unless that run was not completed; judge it first if it
        has no verdict."""
        try:
            facts = run_directory.read(directory)
        except RunDirectoryError:
            return
        if not facts.get("ended") or facts.get("interrupted"):
            return
        names = Scenario.__dataclass_fields__
        scenario = Scenario(**{name: facts[name] for name in names if name in facts})
        if not (directory / VERDICT_FILE).is_file():
            judge_for_the_record(directory, engine=self.engine)
        verdict = judge_written(directory)
        self.done[scenario.command()] = Shown(
            scenario, effects_of(directory), verdict, directory.name
        )


def list_scenarios(targets: Sequence[str]) -> str:
    """Return the regression scenarios and the cells of the tables as text, each with its command
    and the expected verdict or promise. Raise TargetError for a target that does not exist."""
    lines = []
    for target in targets:
        parse_target(target)
        for one in regressions(target):
            lines.append(f"{one.verdict.value:<16} {one.command}")
            lines.append(f"{'':<16} {one.why}")
        for cell in cells(target):
            lines.append(f"{cell.promise:<16} {cell.scenario.command()}")
            lines.append(f"{'':<16} {cell.table}: {cell.row}; {cell.column}")
    return "\n".join(lines)


def scenarios_as_json(targets: Sequence[str]) -> str:
    """Return the regression scenarios and the cells of the tables as JSON. Raise TargetError for an
    unknown target."""
    entries = []
    for target in targets:
        parse_target(target)
        for one in regressions(target):
            entries.append({"command": one.command, "expected": one.verdict.value, "why": one.why})
        for cell in cells(target):
            why = f"{cell.table}: {cell.row}; {cell.column}"
            entries.append(
                {"command": cell.scenario.command(), "expected": cell.promise, "why": why}
            )
    return json.dumps(entries, indent=2)


def judge_written(directory: Path) -> str:
    """Return the word of the verdict that is stored in a run directory: valid, invalid or
    unknown."""
    return str(json.loads((directory / VERDICT_FILE).read_text())["validity"])


def run_tables(
    targets: Sequence[str],
    runs: Path,
    seeds: int = SEEDS,
    reuse: bool = False,
    engine: str = "auto",
) -> tuple[str, int]:
    """Run the tables and return (the tables as Markdown, the exit status). The status is 1 if a run
    broke a promise, 3 if a cell is undecided or there is none, else 0. Raise KeyboardInterrupt
    after Ctrl-C."""
    tables = Tables(runs, seeds, reuse, engine)
    answers = {target: [tables.answer(cell) for cell in cells(target)] for target in targets}
    holds = [answer.holds for each in answers.values() for answer in each]
    status = 1 if False in holds else 3 if None in holds or not holds else 0
    return "\n\n".join(markdown(target, each) for target, each in answers.items()), status


def markdown(target: str, answers: Sequence[Answer]) -> str:
    """Return the guarantee tables of one target as Markdown, or a sentence if it has none."""
    if not answers:
        return f"There are no guarantee tables for {target}; there are for apache and reference."
    tables = dict.fromkeys(answer.cell.table for answer in answers)
    parts = [
        "\n".join(_table(target, table, [a for a in answers if a.cell.table == table]))
        for table in tables
    ]
    return "\n\n".join(parts)


def _table(target: str, table: str, answers: Sequence[Answer]) -> Iterator[str]:
    columns = list(dict.fromkeys(answer.cell.column for answer in answers))
    yield f"**{target}: {table}**"
    yield ""
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for row in dict.fromkeys(answer.cell.row for answer in answers):
        found = {a.cell.column: a.text for a in answers if a.cell.row == row}
        yield f"| {row} | {' | '.join(found.get(column, '–') for column in columns)} |"
