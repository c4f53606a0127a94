"""The runs of compared targets under attack, as the page, the Markdown and the JSON show them: the
verdict of each, and how available the target was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ci.compare.cells import NO_TONE, NOT_MEASURED, TONES, UNSUPPORTED, Cell, Line
from linearizability.verdict import Validity

if TYPE_CHECKING:
    from ci.nightly.matrix import Row

RUNS = "runs"
"""The folder of the run directories, beside the page."""
REPORT = "report.html"

Key = tuple[str, str]
"""A workload and a nemesis."""


@dataclass(frozen=True)
class Attacks:
    """The runs of one target, in the order in which they ran."""

    rows: tuple[Row, ...]

    @property
    def by_key(self) -> dict[Key, Row]:
        return {(row.scenario.workload, row.scenario.nemesis): row for row in self.rows}

    @property
    def are_judged(self) -> bool:
        """Return whether each run that is possible on the target was made and judged."""
        return not any(row.verdict is Validity.UNKNOWN for row in self.rows)

    def told(self) -> str:
        """Return how many runs got which verdict, as one sentence."""
        words = [_word(row) for row in self.rows]
        counts = [f"{words.count(word)} {word}" for word in (*TONES, UNSUPPORTED) if word in words]
        return f"under attack: {', '.join(counts)}"

    def as_list(self) -> list[dict[str, Any]]:
        """Return the runs as JSON values."""
        return [_as_dict(row) for row in self.rows]


def verdicts(all_of: Sequence[Attacks | None]) -> Iterator[Line]:
    """Yield a line with the verdicts for each workload and nemesis. all_of: the runs of each
    target; None: it was not attacked."""
    return _lines(all_of, _verdict)


def availability(all_of: Sequence[Attacks | None]) -> Iterator[Line]:
    """Yield a line with the availability for each workload and nemesis. all_of: the runs of each
    target; None: it was not attacked."""
    return _lines(all_of, _availability)


def _lines(all_of: Sequence[Attacks | None], cell_of: Callable[[Row], Cell]) -> Iterator[Line]:
    keys = dict.fromkeys(key for each in all_of if each is not None for key in each.by_key)
    for key in keys:
        rows = [None if each is None else each.by_key.get(key) for each in all_of]
        cells = (Cell(NOT_MEASURED) if row is None else cell_of(row) for row in rows)
        yield Line(" × ".join(key), "", tuple(cells))


def worse_and_better(before: Attacks | None, after: Attacks | None) -> Iterator[str]:
    """Yield a sentence for each run whose verdict is INVALID in exactly one of two examinations of
    one implementation."""
    if before is None or after is None:
        return
    old = before.by_key
    for key, row in after.by_key.items():
        pair = old[key].verdict if key in old else None, row.verdict
        if pair.count(Validity.INVALID) == 1 and None not in pair:
            yield f"{' × '.join(key)}: {_word(old[key])} before, {_word(row)} now"


def _word(row: Row) -> str:
    return UNSUPPORTED if row.verdict is Validity.NOT_APPLICABLE else row.verdict.value


def _verdict(row: Row) -> Cell:
    word = _word(row)
    link = f"{RUNS}/{row.run}/{REPORT}" if row.run else None
    return Cell(word, row.reason.removeprefix(f"{word}: "), TONES.get(word, NO_TONE), link)


def _availability(row: Row) -> Cell:
    if not row.run:
        return Cell(UNSUPPORTED if row.verdict is Validity.NOT_APPLICABLE else NOT_MEASURED)
    told = f"longest gap {row.longest_gap_s:.1f} s"
    if row.recovery_s is not None:
        told += f", back within {row.recovery_s:.1f} s after a heal"
    return Cell(f"{row.served:.1%}", f"{told}, {row.acknowledged:,} records acknowledged")


def _as_dict(row: Row) -> dict[str, Any]:
    return {
        "workload": row.scenario.workload,
        "nemesis": row.scenario.nemesis,
        "nodes": row.scenario.nodes,
        "seconds": row.scenario.seconds,
        "verdict": _word(row),
        "reason": row.reason or None,
        "served_share": row.served if row.run else None,
        "longest_gap_s": row.longest_gap_s if row.run else None,
        "recovery_s": row.recovery_s,
        "records_acknowledged": row.acknowledged if row.run else None,
        "run": f"{RUNS}/{row.run}" if row.run else None,
        "reproduce": row.scenario.command(),
    }
