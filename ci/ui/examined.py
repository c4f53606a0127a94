"""Read the results of `touchstone conform --out FILE` that lie in a directory of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ci.ui.entry import Unreadable, encodable, loaded

LETTERS = {"passed": "p", "failed": "f", "unsupported": "u"}
FAILURES_MAX = 60
TEXT_MAX = 200


@dataclass(frozen=True)
class Examined:
    """The results of one conformance run. cases: "ID version" -> p (passed), f (failed) or u
    (unsupported)."""

    path: str
    when: str
    target: str
    passed: int
    failed: int
    unsupported: int
    not_run: int
    ended: str
    cases: Mapping[str, str]
    areas: Mapping[str, tuple[int, int, int]]
    failures: tuple[tuple[str, str, str, str], ...]
    """(case, requirement, expected, actual) of the first failures."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def is_examination(data: Any) -> bool:
    """Return whether JSON looks like what `touchstone conform` writes."""
    is_ours = isinstance(data, dict) and "target" in data and "passed" in data
    return is_ours and isinstance(data.get("cases"), list)


def read_examined(file: Path, path: str) -> Examined | None:
    """Return the conformance results in a JSON file, or None if it holds something else. Raise
    Unreadable if the results are damaged."""
    data = loaded(file, "examine again: `touchstone conform --out FILE`")
    if not is_examination(data):
        return None
    try:
        return _examined(data, path, file.stat().st_mtime)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Unreadable(
            f"the conformance results in {file.name} are damaged ({type(error).__name__}: {error});"
            " examine again: `touchstone conform --out FILE`"
        ) from error


def _examined(data: Mapping[str, Any], path: str, written: float) -> Examined:
    cases: dict[str, str] = {}
    areas: dict[str, list[int]] = {}
    failures: list[tuple[str, str, str, str]] = []
    for case in data["cases"]:
        version = "" if case.get("version") is None else f" v{case['version']}"
        letter = LETTERS[case["result"]]
        name = encodable(f"{case['id']}{version}")
        cases[name] = letter
        areas.setdefault(encodable(str(case["area"])), [0, 0, 0])["pfu".index(letter)] += 1
        if letter == "f" and len(failures) < FAILURES_MAX:
            failures.append(
                (name, _told(case, "requirement"), _told(case, "expected"), _told(case, "actual"))
            )
    return Examined(
        path,
        datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        encodable(str(data["target"])),
        int(data["passed"]),
        int(data["failed"]),
        int(data["unsupported"]),
        int(data.get("not_run") or 0),
        encodable(str(data.get("ended") or "")),
        cases,
        {area: (passed, failed, none) for area, (passed, failed, none) in sorted(areas.items())},
        tuple(failures),
    )


def _told(case: Mapping[str, Any], key: str) -> str:
    return encodable(str(case.get(key) or ""))[:TEXT_MAX]
