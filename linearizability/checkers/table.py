"""The table of checkers: those of Touchstone's guarantees, and those that plugins add."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from linearizability.checkers.base import Checker, Needs
from linearizability.guarantees import GUARANTEES, part

GROUP = "touchstone.guarantees"
"""The group of entry points by which other packages add checkers."""


class Table(dict[str, Checker]):
    """Checkers by name. An unknown name is looked up among the plugins, loaded and kept: Spark's
    executors receive only the names of checkers, so they must load plugins themselves. Raise
    KeyError if no plugin has it."""

    def __missing__(self, name: str) -> Checker:
        for point in entry_points(group=GROUP, name=name):
            made = point.load()
            self[name] = made() if isinstance(made, type) else made
            return self[name]
        raise KeyError(name)


def checker_of(name: str) -> Checker:
    """Return the checker of a guarantee: the class in its module `rule` whose name matches the
    guarantee's."""
    made: Checker = getattr(part(name, "rule"), name.title().replace("_", ""))()
    return made


OURS: Mapping[str, Checker] = {name: checker_of(name) for name in GUARANTEES}

CHECKERS = Table(OURS)
"""All checkers by name: Touchstone's own, and those of plugins."""


def markdown_table() -> str:
    """Return the table of the README: name, what must hold, scope, what a history must contain for
    it, and how a partition too large for one executor is judged."""
    lines = [
        "| checker | must hold | scope | applies to histories with | a large partition is |",
        "|---|---|---|---|---|",
    ]
    for checker in OURS.values():
        needs = "; ".join(need.value for need in Needs if need in checker.needs) or "what it counts"
        scope = checker.scope.name.lower()
        cut = f"cut by {checker.cut.name.lower()}" if checker.cut else ""
        large = cut or (f"whole, for {checker.whole}" if checker.whole else "")
        lines.append(f"| `{checker.name}` | {checker.title} | {scope} | {needs} | {large} |")
    return "\n".join(lines)
