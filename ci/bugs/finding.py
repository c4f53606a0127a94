"""The results for one planted bug: its runs, the runs of the clean broker, and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from linearizability.verdict import Validity, Verdict
from reference_impl.bugs import Kind


class Ending(StrEnum):
    """The result of all attempts at one planted bug; the value is the word for the summary."""

    CAUGHT = "caught"
    MISSED = "missed"
    UNRELATED = "unrelated"
    """Something was found, but by no checker that the bug names."""
    ACCUSED = "accused"
    """The clean broker was found INVALID in the run that caught the bug."""
    WRONG_SIDE = "wrong side"
    """A checker of the bug found it, but the other side was blamed."""
    NOT_JUDGED = "not judged"
    """No run of the bug could be made, or that of the clean broker could not be made or ended
    UNKNOWN, which never counts as success."""


class Side(StrEnum):
    """The side (broker or client) in which a bug is planted, or that is blamed for what a run
    shows."""

    BROKER = "broker"
    CLIENT = "client"


@dataclass(frozen=True)
class Attempt:
    """One run of a bug. `accusers`: the checkers whose opinion was INVALID. `blamed`: the side that
    is at fault, if the target can tell."""

    seed: int
    validity: Validity | None
    """The verdict, or None if there was no run, for the reason in `reason`."""
    accusers: tuple[str, ...]
    reason: str
    run: str
    command: str
    seconds: float
    blamed: str = ""

    @classmethod
    def of(cls, seed: int, verdict: Verdict, run: str, command: str, seconds: float) -> Attempt:
        """Return the attempt that this verdict describes."""
        accusers = tuple(
            name
            for name, checker in verdict.checkers.items()
            if checker.validity is Validity.INVALID
        )
        return cls(seed, verdict.validity, accusers, verdict.reason or "", run, command, seconds)


@dataclass
class Finding:
    """The attempts at one bug, which end when one of its checkers has found it, and the run of the
    clean broker after that. left_out: why no run was made, or ""."""

    name: str
    kind: Kind
    expected_of: tuple[str, ...]
    """The checkers that the bug names."""
    command: str
    """The command of the run that caught the bug, or else of the first run."""
    attempts: list[Attempt] = field(default_factory=list)
    clean: Attempt | None = None
    left_out: str = ""
    side: Side = Side.BROKER

    def add(self, attempt: Attempt) -> bool:
        """Add an attempt. Return whether a checker of the bug has found it in this attempt."""
        self.attempts.append(attempt)
        if self.caught_by:
            self.command = attempt.command
        return bool(self.caught_by)

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The checkers that the bug names and that found it in the last run."""
        last = self.attempts[-1].accusers if self.attempts else ()
        return tuple(name for name in last if name in self.expected_of)

    @property
    def others(self) -> tuple[str, ...]:
        """The checkers that found something in a run although the bug does not name them."""
        every = {name for attempt in self.attempts for name in attempt.accusers}
        return tuple(sorted(every - set(self.expected_of)))

    @property
    def runs(self) -> int:
        return len(self.attempts)

    @property
    def seconds(self) -> float:
        """The total seconds of all runs, including judging."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def ending(self) -> Ending:
        if self.caught_by:
            if self.attempts[-1].blamed not in ("", self.side):
                return Ending.WRONG_SIDE
            if self.clean is None or self.clean.validity in (None, Validity.UNKNOWN):
                return Ending.NOT_JUDGED
            return Ending.CAUGHT if self.clean.validity is Validity.VALID else Ending.ACCUSED
        if self.left_out or all(attempt.validity is None for attempt in self.attempts):
            return Ending.NOT_JUDGED
        return Ending.UNRELATED if self.others else Ending.MISSED

    @property
    def said(self) -> str:
        """Return the conclusion as a few words for the summary."""
        how = f"{self.runs} run{'s' * (self.runs != 1)}, {self.seconds:.0f} s"
        match self.ending:
            case Ending.CAUGHT:
                return f"by {', '.join(self.caught_by)}; {how}"
            case Ending.ACCUSED:
                assert self.clean is not None
                accusers = ", ".join(self.clean.accusers)
                return f"by {', '.join(self.caught_by)}, but {accusers} accuses the clean broker"
            case Ending.UNRELATED:
                return (
                    f"{', '.join(self.others)} found something, but not"
                    f" {' or '.join(self.expected_of)}; {how}"
                )
            case Ending.WRONG_SIDE:
                blamed = self.attempts[-1].blamed
                return f"by {', '.join(self.caught_by)}, but the {blamed} was blamed; {how}"
            case Ending.MISSED:
                reasons = {attempt.reason for attempt in self.attempts if attempt.reason}
                why = f" ({'; '.join(sorted(reasons))})" if reasons else ""
                return f"{' and '.join(self.expected_of)} found nothing; {how}{why}"
        if self.left_out:
            return self.left_out
        if self.caught_by:
            why = self.clean.reason if self.clean is not None else "it was not run"
            return f"by {', '.join(self.caught_by)}, but the clean broker was not judged: {why}"
        return "; ".join(dict.fromkeys(attempt.reason for attempt in self.attempts)) or "not run"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "ending": self.ending.value,
            "caught_by": self.caught_by,
            "others": self.others,
            "runs": self.runs,
            "seconds": round(self.seconds, 1),
        }


def exit_status(findings: Sequence[Finding]) -> int:
    """Return 1 if a bug was missed, the wrong side blamed or the clean broker accused, 3 if a run
    was not judged or nothing was tried, else 0."""
    endings = {finding.ending for finding in findings}
    if endings & {Ending.MISSED, Ending.UNRELATED, Ending.ACCUSED, Ending.WRONG_SIDE}:
        return 1
    return 3 if Ending.NOT_JUDGED in endings or not findings else 0
