"""The dated table of examined implementations: docs/implementations.md, and the rows that it is
written from, which are stored beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ci.compare.comparing import RANK, Compared, areas_of
from ci.compare.profiles import PROFILES
from ci.errors import UsageError
from ci.report.markdown import plain

NOT_STATED = "not stated"
"""The suite's version in the table for results of an older Touchstone, which did not write it."""
TEXTS = ("target", "version", "suite", "date")
COMMAND = "touchstone implementations [NAME[:VERSION]=]FILE… --out docs/implementations.md"
HEAD = f"""# Examined implementations

Results of the conformance cases on whole implementations, by
`{COMMAND}`
from files of `touchstone conform --out FILE`. A row is replaced when its implementation is
examined again. Each target had one broker unless its name says otherwise. A run is one case with
one version of the API; *unsupported* means that the target does not advertise what the case needs,
or cannot be examined that way.
"""
LEVELS = """
## Levels by profile

The level is the last priority (P0, P1, P2) up to which no case of the profile fails and no API or
version is missing.
"""
AREAS = """
## Results by area

Passed / failed / unsupported runs.
"""


@dataclass(frozen=True)
class Row:
    """One examined implementation, as the table has it. levels: profile -> the level reached."""

    target: str
    version: str
    suite: str
    date: str
    levels: Mapping[str, str]
    areas: Mapping[str, Sequence[int]]
    """Area -> the number of runs that passed, failed and were unsupported."""

    @property
    def key(self) -> tuple[str, str]:
        return self.target, self.version


def row_of(results: Mapping[str, Any], name: str | None, modified_s: float) -> Row:
    """Return the row of an examination. name: NAME or NAME:VERSION, instead of the target's name in
    the results. modified_s: the time (seconds since 1970) that gives the date if the results have
    none."""
    one = Compared(name or str(results["target"]), results)
    target, _, version = one.name.partition(":")
    modified = datetime.fromtimestamp(modified_s, UTC)
    return Row(
        target,
        version,
        str(results.get("suite", NOT_STATED)),
        str(results.get("date") or f"{modified:%Y-%m-%d}")[:10],
        {each.profile: each.level for each in one.standings()},
        {
            area: [counts[one.name][kind] for kind in ("passed", "failed", "unsupported")]
            for area, counts in sorted(areas_of([one]).items())
        },
    )


def stored(path: Path) -> list[Row]:
    """Return the rows in a file, or none if there is no file. Raise UsageError if the file holds
    something else."""
    if not path.exists():
        return []
    try:
        return [_row(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{path} does not hold rows of `touchstone implementations` ({error}); move it away"
        ) from error


def _row(told: Mapping[str, Any]) -> Row:
    areas = {str(area): [int(n) for n in counts] for area, counts in told["areas"].items()}
    if any(len(counts) != len(RANK) for counts in areas.values()):
        raise ValueError("an area without its three counts")
    levels = {profile.name: str(told["levels"][profile.name]) for profile in PROFILES}
    return Row(**{key: str(told[key]) for key in TEXTS}, levels=levels, areas=areas)


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Return all rows in the order of their names; new ones replace old ones of the same name and
    version."""
    found = {row.key: row for row in (*old, *new)}
    return [found[key] for key in sorted(found)]


def as_json(rows: Sequence[Row]) -> str:
    """Return the rows as the text of the stored file, a line for each."""
    return "[\n" + ",\n".join(json.dumps(vars(row)) for row in rows) + "\n]\n"


def as_page(rows: Sequence[Row]) -> str:
    """Return the page of these rows as Markdown."""
    names = [_name(row) for row in rows]
    lines = ["| implementation | version | suite | date | passed | failed | unsupported |"]
    lines += ["|---|---|---|---|---:|---:|---:|"]
    for row in rows:
        totals = [str(sum(counts)) for counts in zip(*row.areas.values(), strict=True)]
        texts = [row.target, row.version or "–", row.suite, row.date]
        lines.append("| " + " | ".join([*map(plain, texts), *totals]) + " |")
    levels = [[p.name, *(row.levels[p.name] for row in rows)] for p in PROFILES]
    areas = [
        [area, *(_counts(row.areas.get(area)) for row in rows)]
        for area in sorted({area for row in rows for area in row.areas})
    ]
    lines = [HEAD, *lines, LEVELS, *_table("profile", names, levels)]
    return "\n".join([*lines, AREAS, *_table("area", names, areas), ""])


def _name(row: Row) -> str:
    return plain(f"{row.target}:{row.version}" if row.version else row.target)


def _counts(counts: Sequence[int] | None) -> str:
    return "–" if counts is None else " / ".join(map(str, counts))


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [[title, *names], ["---"] * (len(names) + 1), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]
