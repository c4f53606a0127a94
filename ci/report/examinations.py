"""Convert conformance results (JSON of conformance.reporting.results) to their part of the
report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from ci.report.model import CaseLine, Cell, Examination, Tone

TONES = {"passed": Tone.GOOD, "failed": Tone.BAD, "unsupported": Tone.NONE}
ORDER = ("failed", "unsupported", "passed")


def examination(results: Mapping[str, Any], number: int) -> Examination:
    """Return the results of one target for the page; versions of a case with the same result share
    one line. number: the one in the anchor of this examination."""
    entries = list(results.get("cases", ()))
    gathered: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for entry in entries:
        gathered.setdefault(_alike(entry), []).append(entry)
    cases = sorted(
        (_case(together) for together in gathered.values()),
        key=lambda case: (ORDER.index(case.result), case.area, case.id),
    )
    areas = dict.fromkeys(sorted(str(entry["area"]) for entry in entries), Cell())
    target = str(results.get("target", "?"))
    return Examination(
        target=target,
        anchor=f"conformance-{number}",
        counts=_cell(entries),
        distinct_cases=len({entry["id"] for entry in entries}),
        areas={area: _cell([e for e in entries if e["area"] == area]) for area in areas},
        apis={area: _apis(entries, area) for area in areas},
        cases=tuple(cases),
        reproduce=f"touchstone conform {target_option(target)}",
    )


def target_option(target: str) -> str:
    """Return the command-line option for a target: --target for a name, --bootstrap for an
    address."""
    is_address = ":" in target and target.rpartition(":")[2].isdigit()
    return f"--{'bootstrap' if is_address else 'target'} {shlex.quote(target)}"


def _cell(entries: list[Mapping[str, Any]]) -> Cell:
    results = [entry["result"] for entry in entries]
    return Cell(results.count("passed"), results.count("failed"), results.count("unsupported"))


def _apis(entries: list[Mapping[str, Any]], area: str) -> tuple[str, ...]:
    return tuple(sorted({str(entry["api"]) for entry in entries if entry["area"] == area}))


def _alike(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(key)) for key in ("id", "name", "result", "expected", "actual"))


def _case(entries: list[Mapping[str, Any]]) -> CaseLine:
    first = entries[0]
    versions = sorted({entry["version"] for entry in entries if entry.get("version") is not None})
    return CaseLine(
        id=str(first["id"]),
        area=str(first["area"]),
        behaviour=behaviour(str(first["name"])),
        api=str(first["api"]),
        versions=tuple(f"v{version}" for version in versions),
        result=str(first["result"]),
        tone=TONES.get(str(first["result"]), Tone.UNKNOWN),
        requirement=str(first.get("requirement") or ""),
        spec=str(first.get("spec") or ""),
        expected=str(first.get("expected") or ""),
        actual=str(first.get("actual") or ""),
        reproduce=str(first.get("reproduce") or ""),
    )


def behaviour(name: str) -> str:
    """Return the behaviour that a case's function name describes: test_a_topic_is_created -> a
    topic is created."""
    return name.removeprefix("test_").replace("_", " ")
