"""The results of an examination as JSON: counts and one entry per case and version."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from conformance.case import Case


class HasOptions(Protocol):
    options: str


def reproduce_line(nodeid: str, examined: HasOptions) -> str:
    """The command that runs exactly this case again; safe to paste whatever the id contains."""
    return f"pytest {shlex.quote(nodeid)} {examined.options}"


@dataclass
class Results:
    """Collects results while pytest runs; `as_dict` is what --json prints."""

    target: str
    cases: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, stated: Case, nodeid: str, version: int | None, result: str,
        error: BaseException | None, seconds: float, reproduce: str,
    ) -> None:  # fmt: skip
        """result: passed, failed or unsupported. A later phase of the same test replaces."""
        entry = {
            "id": stated.id,
            "name": stated.function,
            "nodeid": nodeid,
            "area": stated.id.split("-")[0],
            "api": stated.api,
            "version": version,
            "priority": stated.priority,
            "requirement": stated.requirement,
            "spec": stated.spec,
            "result": result,
            "expected": _text(getattr(error, "expected", None)),
            "actual": _text(getattr(error, "actual", None) or (error and str(error))),
            "seconds": round(seconds, 3),
            "reproduce": reproduce,
        }
        self.cases = [kept for kept in self.cases if kept["nodeid"] != nodeid] + [entry]

    def counts(self) -> Counter[str]:
        return Counter(entry["result"] for entry in self.cases)

    def as_dict(self) -> dict[str, Any]:
        counts = self.counts()
        return {
            "target": self.target,
            "passed": counts["passed"],
            "failed": counts["failed"],
            "unsupported": counts["unsupported"],
            "distinct_cases": len({entry["id"] for entry in self.cases}),
            "cases": self.cases,
        }

    def summary_line(self) -> str:
        counts = self.counts()
        return (
            f"{self.target}: {counts['passed']} passed, {counts['failed']} failed, "
            f"{counts['unsupported']} unsupported "
            f"({len({entry['id'] for entry in self.cases})} cases of the catalogue)"
        )

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.as_dict(), indent=2))


def _text(value: object) -> str | None:
    return None if value is None else str(value)
