"""The latency, throughput and memory of compared targets, as the page, the Markdown and the JSON
show them.

Absolute figures of one run on a shared machine mean little: a figure stands beside its ratio to
that of the first target, and beside the CPUs that other processes took meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ci.compare.cells import NOT_MEASURED, Cell, Line


@dataclass(frozen=True)
class Measure:
    """One figure: its title, unit and meaning. is_compared: whether its ratio to the first target's
    says anything."""

    title: str
    unit: str
    meaning: str
    is_compared: bool = True


MEASURES: Mapping[str, Measure] = {
    "ack_p50": Measure(
        "acknowledgement, p50", "ms", "one record of 1 KB at a time with acks=all, until the answer"
    ),
    "ack_p99": Measure("acknowledgement, p99", "ms", "the same"),
    "end_to_end_p50": Measure(
        "end to end, p50", "ms", "from the send of such a record until a waiting reader has it"
    ),
    "end_to_end_p99": Measure("end to end, p99", "ms", "the same"),
    "written": Measure(
        "throughput of writes",
        "records/s",
        "requests of 100 records of 100 B with acks=all, 5 in flight",
    ),
    "read": Measure("throughput of reads", "MB/s", "8 MB of records of 1 KB, read again and again"),
    "memory": Measure(
        "peak memory", "MiB", "the largest resident size of all its processes, after these loads"
    ),
    "others": Measure("other processes", "CPUs", "what they took meanwhile: noise", False),
}


@dataclass(frozen=True)
class Speed:
    """The figures of one target, by the names of MEASURES."""

    figures: Mapping[str, float] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Name -> why there is no figure."""

    def as_dict(self, first: Speed | None) -> dict[str, Any]:
        """Return the figures as JSON values. first: those of the first target, for the ratios."""
        return {
            name: {
                "value": self.figures.get(name),
                "ratio": self._ratio(name, first),
                "reason": self.lacking.get(name),
            }
            for name in MEASURES
        }

    def cell(self, name: str, first: Speed | None) -> Cell:
        """Return a figure with its ratio to the first target's, or the reason why there is none."""
        if name not in self.figures:
            word, _, why = self.lacking.get(name, NOT_MEASURED).partition(": ")
            return Cell(word, why)
        ratio = self._ratio(name, first)
        unit = MEASURES[name].unit
        told = f"{ratio:.2f} × the first" if ratio is not None and first is not self else ""
        return Cell(f"{_rounded(self.figures[name])} {unit}", told)

    def _ratio(self, name: str, first: Speed | None) -> float | None:
        base = first.figures.get(name) if first is not None else None
        if not base or name not in self.figures or not MEASURES[name].is_compared:
            return None
        return self.figures[name] / base


def lines(all_of: Sequence[Speed | None]) -> Iterator[Line]:
    """Yield a line for each measure. all_of: the figures of each target; None: it was not
    measured."""
    if all(each is None for each in all_of):
        return
    first = all_of[0]
    for name, measure in MEASURES.items():
        cells = (each.cell(name, first) if each else Cell(NOT_MEASURED) for each in all_of)
        yield Line(measure.title, measure.meaning, tuple(cells))


def _rounded(value: float) -> str:
    """Return a number with three significant digits, or all digits before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
