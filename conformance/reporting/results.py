"""Collect the results of a conformance run: JSON and JUnit with counts and one entry per case and
version.

Both files are replaced atomically every few seconds and at the end, so that the results so far can
be read whatever ends the run.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from conformance.case import Case
from conformance.reporting.evidence import Evidence
from conformance.reporting.junit import as_junit

SAVE_EVERY_S = 2.0
SAVING_SHARE_MAX = 0.05
"""The largest part of an examination that goes into saving; large results are saved less often."""
UNDER_WAY = "the examination was still under way when this was written"
VERSION = 1
"""The version of the JSON that is written (docs/schemas)."""
SUITE = "1.0"
"""The version of the cases: the first number changes when a case changes its meaning, the second
when cases are added. Results of different suites are not of the same examination."""


class HasOptions(Protocol):
    options: str


def reproduce_line(nodeid: str, examined: HasOptions) -> str:
    """Return the shell command that runs exactly this case on this target again, safely quoted. It
    works in any folder, also where Touchstone is installed as a wheel."""
    return f"touchstone conform --only {shlex.quote(nodeid)} {examined.options}"


def why_unwritable(path: Path) -> str | None:
    """Return why no results can be written to this path, or None; create missing directories."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            return "what is there is not a regular file; name a file"
        if path.exists():
            with path.open("ab"):
                return None
        beside = _beside(path.resolve())  # a reader that waits for the file must not find it empty
        beside.touch()
        beside.unlink()
    except OSError as error:
        return f"{error.strerror or error}; name a file that can be written"
    return None


@dataclass(frozen=True)
class Run:
    """One run of a case. version: the version of its API, or None if the case chooses versions
    itself. reproduce: the command that repeats it."""

    nodeid: str
    version: int | None
    seconds: float
    reproduce: str


def entry_of(stated: Case, run: Run, result: str, evidence: Evidence) -> dict[str, Any]:
    """Return the entry of the results for one run of a case. result: passed, failed or
    unsupported."""
    return {
        "id": stated.id,
        "name": stated.function,
        "nodeid": run.nodeid,
        "area": stated.area,
        "api": stated.api,
        "version": run.version,
        "priority": stated.priority,
        "requirement": stated.requirement,
        "spec": stated.spec,
        "result": result,
        "what": evidence.what,
        "expected": evidence.expected,
        "actual": evidence.actual,
        "seconds": round(run.seconds, 3),
        "reproduce": run.reproduce,
        "exchange": list(evidence.exchange),
    }


@dataclass
class Results:
    """Collects results while pytest runs; `as_dict` is what --json prints. as_json_at, as_junit_at:
    the files to save them in, or None."""

    target: str
    as_json_at: Path | None = None
    as_junit_at: Path | None = None
    planned: int = 0
    """The number of selected runs, set once all are known."""
    ended: str | None = UNDER_WAY
    """The reason why the examination ended before its last case, or None once it has run that."""
    cases: list[dict[str, Any]] = field(default_factory=list)
    advertised: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """API -> the first and the last version that the target advertises."""
    order: Mapping[str, int] = field(default_factory=dict)
    """Node id -> its place in the report; others keep the order in which they ended."""
    _date: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    _started: float = field(default_factory=time.monotonic)
    _saved_next: float = 0.0

    def add(self, entry: dict[str, Any]) -> None:
        """Add a result of `entry_of`; a later one of the same test replaces an earlier one. Save
        the files if they are due."""
        self.cases = [kept for kept in self.cases if kept["nodeid"] != entry["nodeid"]] + [entry]
        self.cases.sort(key=lambda each: self.order.get(each["nodeid"], 0))
        if time.monotonic() > self._saved_next:
            self.save()

    def counts(self) -> Counter[str]:
        return Counter(entry["result"] for entry in self.cases)

    @property
    def not_run(self) -> int:
        return max(self.planned - len(self.cases), 0)

    def as_dict(self) -> dict[str, Any]:
        counts = self.counts()
        return {
            "version": VERSION,
            "suite": SUITE,
            "date": self._date,
            "target": self.target,
            "advertised": {api: list(span) for api, span in sorted(self.advertised.items())},
            "passed": counts["passed"],
            "failed": counts["failed"],
            "unsupported": counts["unsupported"],
            "not_run": self.not_run,
            "ended": self.ended,
            "distinct_cases": len({entry["id"] for entry in self.cases}),
            "seconds": round(time.monotonic() - self._started, 3),
            "cases": self.cases,
        }

    def summary_line(self) -> str:
        counts = self.counts()
        not_run = f", {self.not_run} not run" if self.not_run else ""
        return (
            f"{self.target}: {counts['passed']} passed, {counts['failed']} failed, "
            f"{counts['unsupported']} unsupported{not_run} "
            f"({len({entry['id'] for entry in self.cases})} cases of the catalogue)"
        )

    def by_area(self) -> dict[str, Counter[str]]:
        """Return area -> the number of runs by result, in the order in which areas were reached."""
        found: dict[str, Counter[str]] = {}
        for entry in self.cases:
            found.setdefault(entry["area"], Counter())[entry["result"]] += 1
        return found

    def save(self) -> list[str]:
        """Write the results so far; return a sentence for each file that could not be written."""
        began = time.monotonic()
        found = [
            _written(self.as_json_at, lambda: json.dumps(self.as_dict(), indent=2)),
            _written(self.as_junit_at, lambda: as_junit(self.as_dict())),
        ]
        ended = time.monotonic()
        self._saved_next = ended + max(SAVE_EVERY_S, (ended - began) / SAVING_SHARE_MAX)
        return [sentence for sentence in found if sentence]


def _beside(path: Path) -> Path:
    """Return where the results are written before they take the place of the former ones."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def _written(path: Path | None, text: Callable[[], str]) -> str | None:
    if path is None:
        return None
    try:
        path = path.resolve()
        beside = _beside(path)
        try:
            beside.write_text(text(), encoding="utf-8")
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        return f"{path} cannot be written: {error.strerror or error}"
    return None
