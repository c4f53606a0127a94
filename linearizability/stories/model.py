"""A group of anomalies as a value, as verdict.json stores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Anomalies with one cause: the same records, or the same fault, or the same partition.

    number: its rank, from 1. members: checker -> positions among the anomalies that the verdict
    keeps of it. example: the member that the story tells in full, as (checker, position). records:
    the number of records that the most serious members name. from_s, to_s: when it happened, in
    seconds since the first invocation. fault: the faults in progress then, or None. like: the
    number of the first group of the same kind, or None for that group itself.
    """

    number: int
    family: str
    headline: str
    story: str
    members: Mapping[str, tuple[int, ...]]
    example: tuple[str, int]
    partitions: tuple[str, ...] = ()
    records: int = 0
    from_s: float | None = None
    to_s: float | None = None
    fault: str | None = None
    like: int | None = None

    @property
    def anomalies(self) -> int:
        """The number of anomalies in the group."""
        return sum(len(positions) for positions in self.members.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the group for verdict.json."""
        return {
            "number": self.number,
            "family": self.family,
            "headline": self.headline,
            "story": self.story,
            "anomalies": self.anomalies,
            "records": self.records,
            "partitions": list(self.partitions),
            "from_s": self.from_s,
            "to_s": self.to_s,
            "fault": self.fault,
            "like": self.like,
            "example": list(self.example),
            "members": {name: list(positions) for name, positions in self.members.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Group:
        """Return the group that `as_dict` wrote. Raise KeyError, TypeError, ValueError or
        AttributeError on anything else."""
        members = {str(name): tuple(p) for name, p in data["members"].items()}
        checker, position = data["example"]
        return Group(
            data["number"],
            data["family"],
            data["headline"],
            data["story"],
            members,
            (checker, position),
            tuple(data["partitions"]),
            data["records"],
            data["from_s"],
            data["to_s"],
            data["fault"],
            data["like"],
        )
