"""Write a comparison as a page, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from ci.compare import attacks, speed
from ci.compare.cells import Cell, Line
from ci.compare.comparing import (
    CLIPPED,
    Cause,
    Compared,
    areas_of,
    as_dict,
    beside_others,
    changed,
    differing,
    versions_of,
)
from ci.compare.decoding import Shown, shown
from ci.compare.profiles import PROFILES, Entry
from ci.report.html import render
from ci.report.markdown import plain

PAGE, TEXT, DATA = "comparison.html", "comparison.md", "comparison.json"
VERSIONS = "The versions that each target advertises, of the APIs on which they differ."
ATTACKED = (
    "Each run is judged from the history that its clients recorded. A target is unsupported where"
    " it cannot be attacked that way, or where the run would show nothing. Where a reason asks for"
    " a longer --seconds, give --chaos a larger number."
)
SERVED = (
    "The share of the time of the same runs, from the first request to the last, without the gaps"
    " of a second or more in which nothing succeeded."
)
MEASURED = (
    "Figures of one run with one client. They depend on the machine and on what else it does, so"
    " look at the ratios, and repeat the run before you trust one."
)


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
        more=list(_more(all_of)),
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
    for more in _more(all_of):
        lines += ["", f"## {more.title}", "", more.told]
        lines += _table(more.head, names, map(_cells, more.lines))
    if (found := changed(all_of)) is not None:
        lines += ["", f"## Regression report: {plain(found.told())}", ""]
        lines += [f"- {id} {plain(name)} fails now" for id, name in found.worse]
        lines += [f"- {id} {plain(name)} passes now" for id, name in found.better]
        lines += [f"- {plain(told)}" for told in found.attacks]
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


@dataclass(frozen=True)
class More:
    """A further table, if it was asked for. told: how to read it. head: what its rows are."""

    id: str
    title: str
    told: str
    head: str
    lines: Sequence[Line]


def _more(all_of: Sequence[Compared]) -> Iterator[More]:
    """Yield the tables of versions, attacks and speed that have lines."""
    attacked, measured = [one.attacks for one in all_of], [one.speed for one in all_of]
    head = "workload × nemesis"
    for more in (
        More("versions", "Versions", VERSIONS, "API", list(_versions(all_of))),
        More("attacks", "Under attack", ATTACKED, head, list(attacks.verdicts(attacked))),
        More("served", "Availability", SERVED, head, list(attacks.availability(attacked))),
        More("speed", "Speed and memory", MEASURED, "measure", list(speed.lines(measured))),
    ):
        if more.lines:
            yield more


def _versions(all_of: Sequence[Compared]) -> Iterator[Line]:
    for api, versions in versions_of(all_of).items():
        yield Line(api, "", tuple(Cell(each or "not advertised") for each in versions))


def _cells(line: Line) -> list[str]:
    """Return the cells of a row in Markdown, the title first."""
    title = f"{line.title} ({line.meaning})" if line.meaning else line.title
    return [plain(title), *map(_cell, line.cells)]


def _cell(cell: Cell) -> str:
    told = plain(cell.text())
    return f"{told} ([report]({quote(cell.link)}))" if cell.link else told


def _table(title: str, names: Sequence[str], rows: Iterable[list[str]]) -> list[str]:
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
