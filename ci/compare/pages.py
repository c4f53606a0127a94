"""Write a comparison as a page, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ci.compare.comparing import (
    CLIPPED,
    Cause,
    Compared,
    areas_of,
    as_dict,
    beside_others,
    changed,
    differing,
)
from ci.compare.decoding import Shown, shown
from ci.compare.profiles import PROFILES, Entry
from ci.report.html import render
from ci.report.markdown import plain

PAGE, TEXT, DATA = "comparison.html", "comparison.md", "comparison.json"


def write(all_of: Sequence[Compared], out: Path) -> Path:
    """Write the page, the Markdown and the JSON into a directory, which is made if it is missing;
    return the path of the page."""
    out.mkdir(parents=True, exist_ok=True)
    (out / DATA).write_text(json.dumps(as_dict(all_of), indent=1), encoding="utf-8")
    (out / TEXT).write_text(as_markdown(all_of), encoding="utf-8")
    page = out / PAGE
    page.write_text(as_html(all_of), encoding="utf-8")
    return page


def as_html(all_of: Sequence[Compared]) -> str:
    """Return the comparison as an HTML page, which loads nothing from elsewhere."""
    by_target = [one.standings() for one in all_of]
    return render(
        "comparison.html.j2",
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        names=[one.name for one in all_of],
        targets=all_of,
        profiles=PROFILES,
        standings={
            profile.name: [standings[place] for standings in by_target]
            for place, profile in enumerate(PROFILES)
        },
        areas=areas_of(all_of),
        differences=differing(all_of),
        changed=changed(all_of),
        causes={one.name: one.causes() for one in all_of},
        messages=messages,
        beside=lambda entry, own: beside_others(entry, own, all_of),
    )


def messages(entry: Entry) -> Iterator[Shown]:
    """Yield the messages that were recorded with a failed case."""
    yield from shown(entry.get("exchange", ()))


def as_markdown(all_of: Sequence[Compared]) -> str:
    """Return the tables of the page as Markdown, with one line for each group of deviations."""
    names = [one.name for one in all_of]
    lines = ["# Comparison: " + ", ".join(map(plain, names)), ""]
    lines += [f"- {plain(one.name)}: suite {plain(one.suite)}" for one in all_of if one.suite]
    lines += _table("profile", names, _levels(all_of))
    lines += _table("area", names, _areas(all_of))
    if (found := changed(all_of)) is not None:
        lines += ["", f"## Regression report: {plain(found.told())}", ""]
        lines += [f"- {id} {plain(name)} fails now" for id, name in found.worse]
        lines += [f"- {id} {plain(name)} passes now" for id, name in found.better]
    for one in all_of:
        causes = one.causes()
        lines += ["", f"## Deviations of {plain(one.name)}: {len(causes)} groups", ""]
        for cause in causes:
            lines += _deviation(cause, one, all_of)
    return "\n".join(lines) + "\n"


def _deviation(cause: Cause, own: Compared, all_of: Sequence[Compared]) -> Iterator[str]:
    """Yield the line of a group of deviations, and what each side answered, if they differ."""
    yield (
        f"- {', '.join(cause.ids)}: {plain(cause.what)}: expected {plain(cause.expected)}, "
        f"found {plain(cause.actual)} ({len(cause.entries)} runs)"
    )
    other = beside_others(cause.entries[0], own, all_of)
    if other is None:
        return
    if other.note is not None:
        yield f"  - {plain(other.target)}: {plain(other.note)}"
    elif (sides := other.differing()) is not None and any(sides):
        for name, answered in zip((own.name, other.target), sides, strict=True):
            told = plain(answered[:CLIPPED]) or "without these fields"
            yield f"  - {plain(name)} answered {told}"


def _table(title: str, names: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    head = [title, *map(plain, names)]
    return [
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def _levels(all_of: Sequence[Compared]) -> Iterator[list[str]]:
    by_target = [one.standings() for one in all_of]
    for place, profile in enumerate(PROFILES):
        cells = [standings[place] for standings in by_target]
        yield [
            f"{profile.name} ({profile.meaning})",
            *(
                f"{s.level}: {s.passed} passed, {s.failed} failed, {s.missing} missing"
                for s in cells
            ),
        ]


def _areas(all_of: Sequence[Compared]) -> Iterator[list[str]]:
    for area, of_target in areas_of(all_of).items():
        counts = [of_target.get(one.name) for one in all_of]
        yield [
            area,
            *(
                f"{c['passed']} passed, {c['failed']} failed, {c['unsupported']} unsupported"
                if c
                else "not examined"
                for c in counts
            ),
        ]
