"""The findings of a fuzz run, and their text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One finding: what was sent, what was wrong with the result, and the command that repeats
    it."""

    what: str
    why: str
    reproduce: str

    @property
    def group(self) -> str:
        """The API and the reason without indices and numbers, which similar findings share."""
        return re.sub(r"\[\d+\]|-?\d+", "#", f"{self.what.partition(' v')[0]}: {self.why}")


@dataclass
class Findings:
    """The first finding of each group, and how many the group has."""

    first: dict[str, Finding] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def add(self, found: Finding) -> bool:
        """Count a finding. Return whether it is the first of its group, which is kept."""
        self.count[found.group] = self.count.get(found.group, 0) + 1
        return self.first.setdefault(found.group, found) is found

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Any:
        return iter(self.first.items())

    def text(self) -> str:
        """Return all groups as text, one paragraph each, or "" without any."""
        lines = []
        for group, found in self.first.items():
            more = self.count[group] - 1
            lines += [
                f"FOUND: {found.what}",
                f"why:       {found.why}" + (f" (and {more:,} like it)" if more else ""),
                f"reproduce: {found.reproduce}",
                "",
            ]
        return "\n".join(lines)

    def as_rows(self) -> list[dict[str, Any]]:
        """Return the groups for JSON."""
        return [
            {
                "what": found.what,
                "why": found.why,
                "reproduce": found.reproduce,
                "count": self.count[group],
            }
            for group, found in self.first.items()
        ]
