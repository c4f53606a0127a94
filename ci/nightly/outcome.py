"""Compare how a scenario ended with how it must end, and compute the result of a whole night."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from chaos.scenarios.expectation import Expectation
from linearizability.verdict import Validity


class Ending(StrEnum):
    """The result of a scenario compared with the expected one, in one word for the summary."""

    AS_EXPECTED = "as expected"
    KNOWN = "known defect"
    """The verdict was INVALID by a known defect of the target alone (ci.nightly.known)."""
    RED = "not as expected"
    FLAKY = "flaky"
    """The same scenario with the same seed ended in different verdicts."""
    NOT_JUDGED = "not judged"
    """The verdict was UNKNOWN, or the scenario could not be run: this is neither a success nor a
    failure."""


@dataclass(frozen=True)
class Outcome:
    """The result of one scenario in one night. verdicts: one for each time it was run, or none if
    it could not be run."""

    name: str
    command: str
    target: str
    part: str
    why: str
    expected: str
    verdicts: tuple[str, ...]
    reason: str
    run: str
    attack_seconds: float
    seconds: float
    """The seconds of the last attempt, from the start of the cluster to the drawn report, with a
    first run that had shown too little."""
    earlier_runs: tuple[str, ...] = ()
    """The run directories of the earlier attempts."""
    unrelated: bool = False
    """Whether the run was INVALID, but by none of the checkers that must find the bug."""
    known: str = ""
    """The known defect of the target that explains every anomaly of the last run, or ""."""

    @classmethod
    def of(
        cls,
        expectation: Expectation,
        verdicts: Sequence[Validity],
        reason: str,
        run: str,
        seconds: float,
        *,
        unrelated: bool = False,
    ) -> Outcome:
        return cls(
            expectation.name,
            expectation.command,
            expectation.scenario.target,
            expectation.part.value,
            expectation.why,
            expectation.verdict.value,
            tuple(verdict.value for verdict in verdicts),
            reason,
            run,
            expectation.scenario.seconds,
            round(seconds, 1),
            unrelated=unrelated,
        )

    @property
    def ending(self) -> Ending:
        if self.known:
            return Ending.KNOWN
        if len(set(self.verdicts)) > 1:
            return Ending.FLAKY
        if self.unrelated:
            return Ending.RED
        if self.verdicts[-1:] == (self.expected,):
            return Ending.AS_EXPECTED
        if self.verdicts and self.verdicts[-1] != Validity.UNKNOWN.value:
            return Ending.RED
        return Ending.NOT_JUDGED

    @property
    def said(self) -> str:
        """The verdict, or the reason why the run has no verdict."""
        verdict = ", then ".join(self.verdicts) or "not run"
        reason = "; ".join(filter(None, (self.known, self.reason)))
        return f"{verdict} ({reason})" if reason else verdict

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"ending": self.ending.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """Return the outcome from the dict that `as_dict` made. Raise KeyError or TypeError for
        anything else."""
        values = {"earlier_runs": (), "unrelated": False, "known": "", **data}
        texts = {name: tuple(values[name]) for name in ("verdicts", "earlier_runs")}
        return cls(**{field.name: values[field.name] for field in fields(cls)} | texts)


def exit_status(outcomes: Sequence[Outcome], robustness: Iterable[bool]) -> int:
    """Return 1 if anything is red or flaky or a robustness test has failed, 3 if an outcome was not
    judged or there is none, else 0. robustness: whether each robustness test passed."""
    endings = {outcome.ending for outcome in outcomes}
    if endings & {Ending.RED, Ending.FLAKY} or not all(robustness):
        return 1
    return 3 if Ending.NOT_JUDGED in endings or not outcomes else 0
