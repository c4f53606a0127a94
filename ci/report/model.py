"""The content of a report as plain values; this module neither reads files nor draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from markupsafe import Markup

from ci.doctor import Component
from linearizability.verdict import Validity


class Tone(StrEnum):
    """The colour of a statement, always shown together with its symbol and a word."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"
    NONE = "none"

    @property
    def symbol(self) -> str:
        return {"good": "✓", "bad": "✗", "unknown": "?", "none": "–"}[self.value]


TONE_OF = {
    Validity.VALID: Tone.GOOD,
    Validity.INVALID: Tone.BAD,
    Validity.UNKNOWN: Tone.UNKNOWN,
    Validity.NOT_APPLICABLE: Tone.NONE,
}


def worst(tones: Sequence[Tone]) -> Tone:
    """Return the worst of the tones: BAD, then UNKNOWN, then GOOD. Return UNKNOWN if the sequence
    holds none of these."""
    for tone in (Tone.BAD, Tone.UNKNOWN, Tone.GOOD):
        if tone in tones:
            return tone
    return Tone.UNKNOWN


@dataclass(frozen=True)
class Command:
    """A command that the reader may run next, and its purpose."""

    purpose: str
    words: str


@dataclass(frozen=True)
class Line:
    """One line of verdicts: what was judged, the verdict, one sentence that says why, and what to
    do next.

    link: the anchor of the part of the page that shows it; for an anomaly, the operations that
    prove it.
    """

    what: str
    word: str
    tone: Tone
    why: str = ""
    commands: tuple[Command, ...] = ()
    link: str = ""
    engine: str = ""


@dataclass(frozen=True)
class Cell:
    """The counts for one area of the conformance catalogue on one target."""

    passed: int = 0
    failed: int = 0
    unsupported: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.unsupported

    @property
    def tone(self) -> Tone:
        if self.failed:
            return Tone.BAD
        return Tone.GOOD if self.passed else Tone.NONE


@dataclass(frozen=True)
class CaseLine:
    """One conformance case on one target; its versions with the same result share one line."""

    id: str
    area: str
    behaviour: str
    api: str
    versions: tuple[str, ...]
    result: str
    tone: Tone
    requirement: str
    spec: str
    expected: str
    actual: str
    reproduce: str


@dataclass(frozen=True)
class Examination:
    """The conformance results of one target."""

    target: str
    anchor: str
    counts: Cell
    distinct_cases: int
    areas: Mapping[str, Cell]
    apis: Mapping[str, tuple[str, ...]]
    cases: tuple[CaseLine, ...]
    reproduce: str

    @property
    def failures(self) -> list[CaseLine]:
        return [case for case in self.cases if case.result == "failed"]

    @property
    def unsupported(self) -> list[CaseLine]:
        return [case for case in self.cases if case.result == "unsupported"]


@dataclass(frozen=True)
class CheckerLine:
    """The verdict of one checker as a line of the report. word: the verdict. checked: how many
    things were judged. told: how many of its anomalies the page shows in full."""

    name: str
    title: str
    word: str
    tone: Tone
    checked: int
    anomaly_count: int
    reason: str
    link: str
    told: int = 0


@dataclass(frozen=True)
class Evidence:
    """One row of the history that proves an anomaly, as text. index: the position of the row in its
    operation."""

    operation: int
    process: str
    f: str
    place: str
    value: str
    offset: str
    time: str
    outcome: str
    tone: Tone
    detail: str
    is_named: bool
    index: int


@dataclass(frozen=True)
class ReplicaLog:
    """The log of a partition on each of its replicas around the offsets of an anomaly, as the final
    raw reads showed it. lines: (offset, one cell per replica, whether the anomaly names it, whether
    the replicas differ)."""

    place: str
    replicas: tuple[str, ...]
    lines: tuple[tuple[int, tuple[str, ...], bool, bool], ...]


@dataclass(frozen=True)
class LogLine:
    """One line of a node's log, with its time in seconds since the first invocation."""

    time: str
    text: str
    is_grave: bool


@dataclass(frozen=True)
class NodeLog:
    """The lines that a node logged around the time of an anomaly. left_out: the number of further
    lines."""

    node: str
    file: str
    lines: tuple[LogLine, ...]
    left_out: int


@dataclass(frozen=True)
class Cause:
    """The possible cause of an anomaly. faults: (anchor, name, relation to the anomaly in words).
    from_s, to_s: the time span of the anomaly and the starts of its faults, for the timeline."""

    faults: tuple[tuple[str, str, str], ...] = ()
    replicas: tuple[ReplicaLog, ...] = ()
    logs: tuple[NodeLog, ...] = ()
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class AnomalyReport:
    """One anomaly with the operations that prove it."""

    anchor: str
    checker: str
    kind: str
    message: str
    context: str
    blame: str
    scope: str
    operations: tuple[int, ...]
    evidence: tuple[Evidence, ...]
    left_out: int
    figure: Markup
    cause: Cause


@dataclass(frozen=True)
class GroupReport:
    """A group of anomalies with one cause, described in words. facts: their number, the fault, and
    the group that this one resembles. links: (checker, number of its anomalies, anchor of their
    description). figure: the operations of the example over time."""

    number: int
    anchor: str
    headline: str
    story: str
    anomalies: int
    facts: tuple[str, ...]
    links: tuple[tuple[str, int, str], ...]
    figure: Markup


@dataclass(frozen=True)
class Figure:
    """A drawing with a heading and a caption that says what to look for. keys: (style, name) of
    each colour."""

    title: str
    svg: Markup
    caption: str
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FaultLine:
    """A fault, with the time from its injection to its heal."""

    what: str
    nodes: str
    start: str
    end: str
    note: str
    anchor: str


@dataclass(frozen=True)
class Drawing:
    """A page drawn by porcupine, embedded as a whole."""

    name: str
    html: str


@dataclass(frozen=True)
class Axis:
    """The time axis that all figures of a run share. operations: all operations as JSON for zooming
    in, or "" if there are too many."""

    left: float
    width: float
    seconds: float
    operations: Markup


NO_AXIS = Axis(0, 1, 1, Markup(""))


@dataclass(frozen=True)
class RunReport:
    """One run: its facts, figures, anomalies, and the operations that prove each anomaly."""

    name: str
    anchor: str
    title: str
    line: Line
    numbers: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    checkers: tuple[CheckerLine, ...] = ()
    figures: tuple[Figure, ...] = ()
    axis: Axis = NO_AXIS
    faults: tuple[FaultLine, ...] = ()
    errors: tuple[tuple[str, str, int], ...] = ()
    groups: tuple[GroupReport, ...] = ()
    groups_left_out: int = 0
    counted: str = ""
    anomalies: tuple[AnomalyReport, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    drawings_left_out: tuple[str, ...] = ()
    explained: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Canary:
    """A planted bug, and whether a checker caught it."""

    bug: str
    caught_by: tuple[str, ...]
    run: RunReport

    @property
    def tone(self) -> Tone:
        """Green if the bug was caught: a canary's verdict must be INVALID."""
        return Tone.GOOD if self.caught_by else Tone.BAD

    @property
    def word(self) -> str:
        return "caught" if self.caught_by else "not caught"


@dataclass(frozen=True)
class ReportData:
    """The content of the whole page, about one run or a demo. lines: its verdicts. not_run:
    sentences about what was not run or not judged."""

    title: str
    generated: str
    lines: tuple[Line, ...]
    examinations: tuple[Examination, ...] = ()
    runs: tuple[RunReport, ...] = ()
    canaries: tuple[Canary, ...] = ()
    components: tuple[Component, ...] = ()
    is_demo: bool = False
    not_run: tuple[str, ...] = field(default=())

    @property
    def tone(self) -> Tone:
        return worst([line.tone for line in self.lines])

    @property
    def word(self) -> str:
        if not self.is_demo and len(self.lines) >= 1:
            return self.lines[0].word
        return {
            Tone.GOOD: "everything as expected",
            Tone.BAD: "not everything as expected",
            Tone.UNKNOWN: "not everything was judged",
            Tone.NONE: "nothing was judged",
        }[self.tone]

    @property
    def tally(self) -> str:
        """Return the number of lines with each result, such as "5 as expected, 1 not judged"."""
        words = list(dict.fromkeys(line.word for line in self.lines))
        counts = [(sum(line.word == word for line in self.lines), word) for word in words]
        return ", ".join(f"{count} {word}" for count, word in counts)

    @property
    def amiss(self) -> list[Line]:
        """Return the lines with an unexpected result, or which were not judged."""
        return [line for line in self.lines if line.tone is not Tone.GOOD]

    @property
    def areas(self) -> list[str]:
        """Return the areas of the catalogue in which at least one target was examined."""
        return sorted({area for examined in self.examinations for area in examined.areas})

    def apis(self, area: str) -> list[str]:
        """Return the APIs that the cases of an area call."""
        return sorted({api for e in self.examinations for api in e.apis.get(area, ())})
