"""The verdict on one history, merged from the opinions of the checkers.

Merging (guarantees.md): INVALID if any checker is; else UNKNOWN if an applicable checker did not
finish or had to excuse all that it found to judge, if a checker that the workload names judged
nothing, or if none judged anything; else VALID. UNKNOWN is never green.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from linearizability.stories.model import Group

VERSION = 1
"""The version of the JSON form of a verdict (docs/schemas)."""


class Validity(StrEnum):
    """The possible opinions. NOT_APPLICABLE: the history contains nothing that the checker
    judges."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


EXIT_STATUS = {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 3}
"""Exit status of a command that ends in this verdict (2 is a usage or environment error)."""


@dataclass(frozen=True)
class Anomaly:
    """One proof that a guarantee was broken.

    kind: what was broken, a word with dashes ("lost-write"). operations: the `op_id`s that prove
    it. message: one sentence for people. scope: the columns that identify the place, e.g. {"topic":
    "appends", "partition": 3}. blame: "broker" or "client" if the history shows which is at fault.
    context: the partition, offset, client, time and fault as far as the message leaves them out;
    set when the anomalies are grouped (`stories.grouping`). off_ms: by how many milliseconds the
    clock of a broker must have been wrong if this is no anomaly, or None where that is not
    measured. It is used to judge, and not written.
    """

    kind: str
    operations: tuple[int, ...]
    message: str
    scope: Mapping[str, Any] = field(default_factory=dict)
    blame: str | None = None
    context: str = ""
    off_ms: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "operations": list(self.operations),
            "message": self.message,
            "scope": dict(self.scope),
            "blame": self.blame,
            "context": self.context,
        }


@dataclass(frozen=True)
class CheckerVerdict:
    """The opinion of one checker. checked: how many checks it made (its docstring says of what).
    excused: the number of checks that it left out, because something in the history might explain
    an anomaly. reason: why it is not plainly VALID, or None.

    anomalies may be cut to the first MAX_ANOMALIES of each kind; anomaly_count is always the full
    number.
    """

    name: str
    validity: Validity
    checked: int
    anomalies: tuple[Anomaly, ...] = ()
    anomaly_count: int = 0
    reason: str | None = None
    excused: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "validity": self.validity.value,
            "checked": self.checked,
            "excused": self.excused,
            "anomaly_count": self.anomaly_count,
            "anomalies": [anomaly.as_dict() for anomaly in self.anomalies],
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Verdict:
    """The merged opinion of all checkers on one history. reason: why it is not VALID, else None."""

    validity: Validity
    engine: str
    checkers: Mapping[str, CheckerVerdict]
    reason: str | None = None
    availability: Mapping[str, Any] | None = None
    """The availability of the run, if it was measured (`availability.Availability.as_dict`)."""
    groups: tuple[Group, ...] = ()
    """The anomalies by cause, the most serious first (`stories.grouping.with_groups`)."""

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.validity]

    @property
    def anomaly_count(self) -> int:
        """The number of proven anomalies, including those that the verdict does not keep."""
        proven = (c for c in self.checkers.values() if c.validity is Validity.INVALID)
        return sum(checker.anomaly_count for checker in proven)

    @property
    def anomalies(self) -> list[tuple[str, Anomaly]]:
        """All (checker, anomaly) pairs that the verdict keeps, excused ones included, in the order
        of the checkers."""
        return [(name, a) for name, checker in self.checkers.items() for a in checker.anomalies]

    def as_dict(self) -> dict[str, Any]:
        served = {} if self.availability is None else {"availability": dict(self.availability)}
        return {
            "version": VERSION,
            "validity": self.validity.value,
            "engine": self.engine,
            "reason": self.reason,
            "groups": [group.as_dict() for group in self.groups],
            "checkers": {name: checker.as_dict() for name, checker in self.checkers.items()},
            **served,
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `as_dict` wrote, its anomalies without off_ms. Raise KeyError,
        TypeError, ValueError or AttributeError on anything else, and ValueError for another
        version, in which a property may mean something else."""
        if (version := data.get("version", VERSION)) != VERSION:
            raise ValueError(f"it has version {version!r}, this touchstone reads version {VERSION}")
        checkers = {}
        for name, c in data["checkers"].items():
            anomalies = tuple(
                Anomaly(
                    a["kind"],
                    tuple(a["operations"]),
                    a["message"],
                    a["scope"],
                    a["blame"],
                    a.get("context", ""),
                )
                for a in c["anomalies"]
            )
            checkers[name] = CheckerVerdict(
                name,
                Validity(c["validity"]),
                c["checked"],
                anomalies,
                c["anomaly_count"],
                c["reason"],
                c.get("excused", 0),
            )
        return Verdict(
            Validity(data["validity"]),
            data["engine"],
            checkers,
            data["reason"],
            data.get("availability"),
            tuple(map(Group.from_dict, data.get("groups", ()))),
        )


def merge(
    opinions: Iterable[CheckerVerdict], *, engine: str, named_by_workload: Iterable[str] = ()
) -> Verdict:
    """Return one verdict merged from many opinions, by the rule at the head of this file. Its
    anomalies have no groups yet. named_by_workload: checkers that must have judged something."""
    checkers = {opinion.name: opinion for opinion in opinions}
    applicable = [c for c in checkers.values() if c.validity is not Validity.NOT_APPLICABLE]
    invalid = [c.name for c in applicable if c.validity is Validity.INVALID]
    unfinished = [c.name for c in applicable if c.validity is Validity.UNKNOWN]
    idle = sorted(
        name for name in named_by_workload if name not in checkers or checkers[name].checked == 0
    )
    if invalid:
        validity, reason = Validity.INVALID, f"invalid: {', '.join(invalid)}"
    elif unfinished:
        validity, reason = Validity.UNKNOWN, f"undecided: {', '.join(unfinished)}"
    elif idle:
        validity = Validity.UNKNOWN
        reason = f"the workload asks for checkers that judged nothing: {', '.join(idle)}"
    elif not any(c.checked for c in applicable):
        validity = Validity.UNKNOWN
        reason = (
            "no checker judged anything: the history has no operation that a guarantee is about"
        )
    else:
        validity, reason = Validity.VALID, None
    return Verdict(validity, engine, checkers, reason)
