"""Choose the cases of an examination by id, area and priority."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from conformance.case import Case, case_of

CASES = Path(__file__).parent.parent / "cases"
PRIORITIES = ("P0", "P1", "P2")
HOSTILE = "test_malformed"
"""The file of the cases that send malformed bytes."""
HARMFUL = (HOSTILE, "test_hostile_records")
"""The files of the cases that may end a target which has defects."""
Settings = tuple[tuple[str, str], ...]
Turn = tuple[bool, Settings, int]
PEM = "-----BEGIN"
_ID = re.compile(r'@case\(\s*"([^"]+)"')


@dataclass(frozen=True)
class Selection:
    """The limits of an examination: ids and areas of cases, of which empty sets limit nothing, and
    the lowest priority that is run."""

    ids: frozenset[str]
    areas: frozenset[str]
    priority: str

    @classmethod
    def of(cls, config: pytest.Config) -> Selection:
        """Return what the command line asks for. Raise UsageError for an unknown priority."""
        priority = config.getoption("--priority")
        if priority not in PRIORITIES:
            raise pytest.UsageError("conformance: --priority takes P0, P1 or P2")
        return cls(
            frozenset(word.upper() for word in config.getoption("--case")),
            frozenset(word.upper() for word in config.getoption("--area")),
            priority,
        )

    def takes(self, stated: Case) -> bool:
        """Return whether the examination runs this case."""
        return (
            (not self.ids or stated.id in self.ids)
            and (not self.areas or stated.area in self.areas)
            and PRIORITIES.index(stated.priority) <= PRIORITIES.index(self.priority)
        )


def check_keyword(expression: str) -> None:
    """Raise UsageError for a -k that pytest could not read: it looks only after it has imported the
    cases, when the target runs already."""
    try:
        Expression.compile(expression or "all")
    except Exception as error:  # pytest has changed its type
        raise pytest.UsageError(
            f"conformance: -k {expression!r} cannot be read; write names with and, or, not, ()"
        ) from error


def case_in(item: pytest.Item) -> Case | None:
    """Return the case that an item runs, or None for an item that is no case."""
    return case_of(getattr(item, "function", None))


def version_of(item: pytest.Item) -> int | None:
    """Return the version in which a case runs, or None if it chooses its versions itself."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("version") if callspec is not None else None


def turn(stated: Case, file: Path) -> Turn:
    """Return the sort key of a case in this file. The highest priority comes first, in all areas.
    Cases with settings of their own come later, those with the same settings together. Malformed
    bytes come last, since a target that was not started here may end by them, and with it the
    examination."""
    return (file.stem == HOSTILE, settings_of(stated), PRIORITIES.index(stated.priority))


def settings_of(stated: Case) -> Settings:
    """Return the settings of a case, such that they are the same in each process: without its keys
    and certificates, which each process makes for itself."""
    return tuple((key, "" if PEM in value else value) for key, value in stated.config)


def why_unknown(ids: Iterable[str], areas: Iterable[str], known: Iterable[str]) -> str | None:
    """Return a sentence about the first id or area of which there is no case, with what may have
    been meant, or None if all are known. known: the ids of all cases."""
    cases = sorted(known)
    all_areas = sorted({case.partition("-")[0] for case in cases})
    for word in sorted(set(ids) - set(cases)):
        near = get_close_matches(word, cases, 3)
        meant = (
            f"did you mean {' or '.join(near)}?" if near else "`touchstone conform list` shows all"
        )
        return f"no case is called {word}; {meant}"
    for word in sorted(set(areas) - set(all_areas)):
        return f"no area is called {word}; there are {', '.join(all_areas)}"
    return None


def ids_in(paths: Iterable[Path]) -> set[str]:
    """Return the ids of the cases in these files and folders, which are read and not imported, so
    that a wrong id can be refused at once."""
    files = (file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path]))
    return {found for file in files for found in _ID.findall(file.read_text(encoding="utf-8"))}


def add_options(group: pytest.OptionGroup) -> None:
    """Add the options that select cases to pytest's command line."""
    repeatable = {"action": "append", "default": []}
    group.addoption("--case", metavar="ID", help="run only this case; repeatable", **repeatable)
    group.addoption("--area", metavar="AREA", help="run only this area; repeatable", **repeatable)
    group.addoption("--priority", default="P2", help="run cases up to this priority: P0, P1 or P2")
