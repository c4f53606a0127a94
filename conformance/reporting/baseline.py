"""Hold an examination against the failures that are known: `touchstone conform --baseline FILE`.

FILE is either the results of an earlier examination (`--out`), or TOML that somebody keeps:

    [[deviation]]
    case = "PROD-05"
    test = "test_an_unknown_topic_is_refused"  # optional: only this test of the case
    version = 3                                # optional: only this version of the API
    actual = "UNKNOWN_TOPIC"                   # optional: only where this pattern is in what
                                               # the target did instead
    sometimes = true                           # optional: not every run shows it, so a case that
                                               # passes is no news
    reason = "topics are created by hand here"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.reporting.reading import results_in

FIELDS = {"case": str, "test": str, "version": int, "actual": str, "sometimes": bool, "reason": str}
MUST_HAVE = ("case", "reason")
NAMED_MAX = 5
"""The most cases that a line names."""


@dataclass(frozen=True)
class Known:
    """A known failure; `test`, `version` and `actual` narrow it down unless they are None."""

    case: str
    reason: str
    test: str | None = None
    version: int | None = None
    actual: str | None = None
    """A regular expression that must match somewhere in what the target did instead."""
    sometimes: bool = False
    """Whether the case may pass in one run and fail in the next."""

    def means(self, entry: Mapping[str, Any]) -> bool:
        """Return whether this is about the given entry of the results."""
        return (
            entry["id"] == self.case
            and self.test in (None, entry["name"])
            and self.version in (None, entry["version"])
        )

    def explains(self, failed: Mapping[str, Any]) -> bool:
        """Return whether a failed entry of the results is this known failure: the same case (test,
        version), and `actual` matches what the target did."""
        said = str(failed.get("actual", ""))
        return self.means(failed) and (self.actual is None or bool(re.search(self.actual, said)))

    def __str__(self) -> str:
        version = None if self.version is None else f"v{self.version}"
        return " ".join(filter(None, (self.case, self.test, version)))


@dataclass(frozen=True)
class Difference:
    """The difference between an examination and the known failures."""

    file: str
    known: int
    """The number of failures that the baseline names."""
    new: tuple[str, ...]
    """The node ids of the failures that it does not name."""
    mended: tuple[str, ...]
    """The failures that the baseline names although some of their runs passed and none failed,
    without those that only some runs show."""
    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reason -> the cases that failed as the baseline says."""

    def is_red(self) -> bool:
        """Return whether the baseline and the target differ."""
        return bool(self.new or self.mended)

    def lines(self) -> Iterator[str]:
        """Yield the lines of a report: the numbers, then known failures by reason, new ones, and
        those that pass now."""
        yield f"{self.file}: known failures: {self.known}, new: {len(self.new)}"
        for reason, cases in self.reasons.items():
            more = f" and {len(cases) - NAMED_MAX} more" if len(cases) > NAMED_MAX else ""
            yield f"  known: {', '.join(cases[:NAMED_MAX])}{more}: {reason}"
        for each in self.new:
            yield f"  new: {each}"
        for each in self.mended:
            yield f"  passes now, so remove it from {self.file}: {each}"


def read_baseline(path: Path) -> tuple[Known, ...]:
    """Return the known failures in the file: those that it lists (TOML), or the failed cases of an
    earlier examination (JSON). Raise OSError if it cannot be read, or ValueError, which says what
    is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json" or text.lstrip().startswith("{"):
            return tuple(_of_results(results_in(text, "id", "name", "version")))
        return tuple(_of_toml(tomllib.loads(text)))
    except ValueError as error:
        raise ValueError(
            f"{error}; give the file of an earlier --out, or TOML with"
            ' [[deviation]] case = "PROD-05", reason = "…" (docs/ci/README.md)'
        ) from error


def difference(
    results: Mapping[str, Any], known: Collection[Known], file: Path | str
) -> Difference:
    """Return how the failures of an examination differ from the known ones. A known failure is
    mended if some of its runs passed and none failed, unless only some runs show it; one whose runs
    were all unsupported, or not run, is neither new nor mended. file: the name of the baseline, for
    messages."""
    failed = [entry for entry in results["cases"] if entry["result"] == "failed"]
    passed = [entry for entry in results["cases"] if entry["result"] == "passed"]
    new = [entry for entry in failed if not any(each.explains(entry) for each in known)]
    mended = [
        str(each)
        for each in known
        if not each.sometimes
        if any(map(each.means, passed)) and not any(map(each.means, failed))
    ]
    reasons: dict[str, dict[str, None]] = {}
    for entry in failed:
        for each in known:
            if each.explains(entry):
                reasons.setdefault(each.reason, {})[entry["id"]] = None
    return Difference(
        str(file),
        len(failed) - len(new),
        tuple(each["nodeid"] for each in new),
        tuple(mended),
        {reason: tuple(cases) for reason, cases in reasons.items()},
    )


def _of_results(read: Mapping[str, Any]) -> Iterator[Known]:
    reason = f"failed on {read['target']}"
    for entry in read["cases"]:
        if entry["result"] == "failed":
            yield Known(entry["id"], reason, entry["name"], entry["version"])


def _of_toml(read: Mapping[str, Any]) -> Iterator[Known]:
    unknown = set(read) - {"deviation"}
    if unknown:
        raise ValueError(f"{min(unknown)!r} is not a table of a baseline")
    rows = read.get("deviation", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("`deviation` is not a list of tables: write [[deviation]] above each")
    for number, row in enumerate(rows, 1):
        for key, value in row.items():
            if key not in FIELDS or not isinstance(value, FIELDS[key]):
                raise ValueError(
                    f"deviation {number}: {key} = {value!r} is not understood: the keys are"
                    " case, test, actual and reason, each a text, version, a number, and"
                    " sometimes, true or false"
                )
        try:
            re.compile(row.get("actual", ""))
        except re.error as error:
            raise ValueError(f"deviation {number}: actual is not a pattern: {error}") from error
        missing = [key for key in MUST_HAVE if not row.get(key)]
        if missing:
            raise ValueError(f"deviation {number} lacks {missing[0]!r}")
        yield Known(**row)
