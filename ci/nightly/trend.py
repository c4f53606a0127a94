"""The trend report: the result of every scenario in each of the last nights, on one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from chaos.scenarios.expectation import Part
from ci.nightly.outcome import Ending, Outcome
from ci.nightly.records import Night, Store, flaky_commands
from ci.report.html import render
from ci.report.model import Tone

NIGHTS_MAX = 30
WORST_FIRST = (Ending.RED, Ending.FLAKY, Ending.NOT_JUDGED, Ending.KNOWN, Ending.AS_EXPECTED)
TONES = {
    Ending.AS_EXPECTED: Tone.GOOD,
    Ending.RED: Tone.BAD,
    Ending.FLAKY: Tone.BAD,
    Ending.NOT_JUDGED: Tone.UNKNOWN,
    Ending.KNOWN: Tone.UNKNOWN,
}


@dataclass(frozen=True)
class Cell:
    """The result of one scenario in one night: the worst among its seeds."""

    tone: Tone
    word: str
    times: int
    link: str
    title: str


@dataclass(frozen=True)
class Row:
    """One scenario in all nights. cost_s: the median seconds that it takes besides the attack
    itself."""

    name: str
    expected: str
    why: str
    cells: tuple[Cell | None, ...]
    seconds: float
    cost_s: float
    command: str
    worst: Tone


@dataclass(frozen=True)
class Column:
    """One night of the trend report."""

    day: str
    time: str
    commit: str
    scenarios: int
    tone: Tone
    word: str
    counts: str
    """The number of scenarios with each ending, as text."""


def write_trend(store: Store) -> Path:
    """Draw nightly/trend.html from the last NIGHTS_MAX stored nights and return its path. Raise
    UsageError for a record that is damaged."""
    nights = store.nights()[-NIGHTS_MAX:]
    flaky = flaky_commands(nights)
    names = dict.fromkeys(o.name for night in reversed(nights) for o in night.outcomes)
    rows = [_row(name, nights, flaky, store) for name in names]
    order = (Tone.BAD, Tone.UNKNOWN, Tone.GOOD)
    rows.sort(key=lambda row: (order.index(row.worst), row.name))
    page = render(
        "trend.html.j2",
        columns=[_column(night) for night in nights],
        rows=rows,
        night=nights[-1] if nights else None,
        wrong=_wrong(nights[-1].outcomes) if nights else [],
    )
    out = store.home / "trend.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
    return out


def counts(outcomes: Sequence[Outcome]) -> str:
    """Return the number of outcomes of each kind as text. Leave out zeros, except for passed
    ones."""
    numbers = Counter(outcome.ending for outcome in outcomes)
    shown = [ending for ending in Ending if numbers[ending] or ending is Ending.AS_EXPECTED]
    return ", ".join(f"{numbers[ending]} {ending.value}" for ending in shown)


def _wrong(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes that differ from the expected ones, the worst first."""
    found = [outcome for outcome in outcomes if outcome.ending is not Ending.AS_EXPECTED]
    return sorted(found, key=lambda outcome: WORST_FIRST.index(outcome.ending))


def _column(night: Night) -> Column:
    tones = {0: Tone.GOOD, 1: Tone.BAD}
    words = {0: "as expected", 1: "not as expected", 3: "not all judged", None: "cut off"}
    return Column(
        night.started[:10],
        night.started[11:16],
        str(night.settings["commit"])[:8],
        len(night.outcomes),
        tones.get(night.exit_status, Tone.UNKNOWN),  # type: ignore[arg-type]
        words.get(night.exit_status, "unknown"),
        counts(night.outcomes),
    )


def _row(name: str, nights: Sequence[Night], flaky: set[str], store: Store) -> Row:
    found = [[o for o in night.outcomes if o.name == name] for night in nights]
    every = [outcome for outcomes in found for outcome in outcomes]
    cells = tuple(_cell(outcomes, flaky, store) for outcomes in found)
    seen = [cell.tone for cell in cells if cell is not None]
    worst = Tone.BAD if Tone.BAD in seen else Tone.UNKNOWN if Tone.UNKNOWN in seen else Tone.GOOD
    seconds = median(outcome.seconds for outcome in every)
    cost = median(outcome.seconds - outcome.attack_seconds for outcome in every)
    last = every[-1]
    # Explored runs all have the same reason.
    why = "" if last.part == Part.EXPLORATION.value else last.why
    return Row(name, last.expected, why, cells, seconds, cost, last.command, worst)


def _cell(outcomes: Sequence[Outcome], flaky: set[str], store: Store) -> Cell | None:
    """Return the worst outcome of a scenario in one night, or None if the night did not run it."""
    if not outcomes:
        return None
    worst = min(outcomes, key=lambda outcome: WORST_FIRST.index(ending_of(outcome, flaky)))
    ending = ending_of(worst, flaky)
    word = Ending.FLAKY.value if ending is Ending.FLAKY else (worst.verdicts or ("not run",))[-1]
    link = f"../{worst.run}/report.html" if worst.run else ""
    if link and not (store.runs / worst.run / "report.html").is_file():
        link = ""  # deleted since, to stay within the limit of disk space
    return Cell(TONES[ending], word, len(outcomes), link, f"{ending.value}: {worst.said}")


def ending_of(outcome: Outcome, flaky: set[str]) -> Ending:
    """Return the ending that the night recorded, or FLAKY if its command had different verdicts in
    runs of the same code. flaky: the commands of which that is known."""
    return Ending.FLAKY if outcome.command in flaky else outcome.ending
