"""The output of `touchstone bugs`: the list of planted bugs, and the results of a hunt."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence

from ci.bugs.finding import Ending, Finding
from ci.bugs.hunt import named
from reference_impl.bugs import CONFORMANCE, Bug, Kind
from reference_impl.bugs.bug import ClientBug
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import BROKER_BUGS


def every_bug() -> dict[str, Bug | ClientBug]:
    """Return the planted bugs of the broker and of its clients, by their names."""
    return {**BROKER_BUGS, **CLIENT_BUGS}


def listed(only: Sequence[str]) -> dict[str, Bug | ClientBug]:
    """Return the given bugs, or all if none is given. Raise UsageError for an unknown name."""
    bugs = every_bug()
    return {name: bugs[name] for name in named(only, bugs) or bugs}


def render_bugs(only: Sequence[str] = ()) -> str:
    """Return a paragraph for each of the given bugs, or for all if none is given: its name, what it
    does, the rule that it breaks, and the checkers that must catch it."""
    parts = []
    bugs = listed(only)
    for kind in Kind:
        if any(bug.kind is kind for bug in bugs.values()):
            parts.append(f"== {kind.value}")
        for name, bug in bugs.items():
            if bug.kind is kind:
                text = f"{deed_of(bug)}\n\n{inspect.getdoc(bug.rules) or ''}"
                parts.append(f"{name}\n" + "\n".join(f"    {line}" for line in text.splitlines()))
    return "\n\n".join(parts)


def deed_of(bug: Bug | ClientBug) -> str:
    """Return the sentence that says what the bug does: the first paragraph of its file."""
    return (inspect.getdoc(inspect.getmodule(bug.rules)) or "").partition("\n\n")[0]


def bugs_as_json(only: Sequence[str] = ()) -> str:
    """Return the given bugs, or all planted bugs if none is given, as JSON."""
    entries = [
        {
            "name": name,
            "kind": bug.kind.value,
            "does": deed_of(bug),
            "about": inspect.getdoc(bug.rules) or "",
            "workload": bug.workload,
            "nemesis": bug.nemesis,
            "caught_by": list(bug.expected_of),
        }
        for name, bug in listed(only).items()
    ]
    return json.dumps(entries, indent=2)


def summary(findings: Sequence[Finding]) -> str:
    """Return, as text, two lines for each bug, its conclusion and the command that reproduces it,
    and then the counts."""
    lines = ["\n== summary"]
    for each in findings:
        lines.append(f"{each.ending.value:<12} {each.name}: {each.said}")
        lines.append(f"{'':<12} reproduce: {each.command}")
    return "\n".join([*lines, *counts(findings)])


def counts(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each kind of bug with how many were caught, then one with the number of
    bugs by ending."""
    lines = []
    for kind in Kind:
        of_kind = [each for each in findings if each.kind is kind]
        caught = [each for each in of_kind if each.ending is Ending.CAUGHT]
        by_cases = sum(each.caught_by == (CONFORMANCE,) for each in caught)
        if of_kind:
            alone = f", {by_cases} by conformance alone" if by_cases else ""
            lines.append(f"{kind.value}: {len(caught)} of {len(of_kind)} caught{alone}")
    endings = ", ".join(
        f"{count} {ending.value}"
        for ending in Ending
        if (count := sum(each.ending is ending for each in findings))
    )
    return [*lines, f"{len(findings)} planted bugs: {endings or 'none was tried'}"]


def markdown(findings: Sequence[Finding]) -> str:
    """Return the results of a hunt as a Markdown table, and the counts as a list below it."""
    lines = [
        "| planted bug | kind | caught by | runs | seconds | reproduce |",
        "|---|---|---|---|---|---|",
    ]
    for each in findings:
        by = ", ".join(f"`{name}`" for name in each.caught_by)
        lines.append(
            f"| {each.name} | {each.kind.value} | {by or f'**{each.said}**'} | {each.runs} |"
            f" {each.seconds:.0f} | `{each.command}` |"
        )
    return "\n".join([*lines, "", *(f"- {line}" for line in counts(findings))])


def as_json(findings: Sequence[Finding]) -> str:
    """Return the results of a hunt as JSON."""
    return json.dumps([each.as_dict() for each in findings], indent=2)
