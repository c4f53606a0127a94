"""Load plugins: other packages' cases, workloads, nemeses, targets, guarantees and importers.

A package declares each as an entry point, for example in the group `touchstone.nemeses`
(docs/plugins.md). Plugins are added when a command starts; they cannot replace the project's own
names. A plugin that cannot be used is reported in one sentence and left out.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any


class PluginError(Exception):
    """Raised if a plugin cannot be used; the message says why."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of another package. problem: why it was left out, or None."""

    kind: str
    name: str
    package: str
    problem: str | None = None
    module: str = ""
    """The module that the entry point names."""

    @property
    def sentence(self) -> str:
        """The plugin's kind, name and package, and why it was left out if it was."""
        told = f"the {self.kind} {self.name!r} of the package {self.package}"
        if self.problem is None:
            return told
        return f"{told} is left out: {self.problem}; correct the package, or uninstall it"


@cache
def load() -> tuple[Plugin, ...]:
    """Add all plugins to the project's tables, once per process. Return all of them, including
    those left out because of a problem."""
    return tuple(_added(kind, point) for kind in KINDS for point in _points(kind))


def load_and_tell() -> None:
    """Add all plugins, and print on stderr the names of those that were left out."""
    for plugin in load():
        if plugin.problem is not None:
            print(f"touchstone: {plugin.sentence}", file=sys.stderr)


def why_failed(error: BaseException) -> str | None:
    """Return the sentence about an error that a plugin's code raised or passed on, with the last
    place in that code, or None for an error of our own."""
    frames = [
        (str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    for plugin in load():
        own = plugin.module.partition(".")[0]
        places = [f"{file}:{line}" for package, file, line in frames if package == own]
        if places and plugin.problem is None:
            return (
                f"the package {plugin.package} failed at {places[-1]} ({_told(error)}); correct it,"
                " or uninstall it"
            )
    return None


def pytest_addoption() -> None:
    """Add all plugins in a pytest process started by ci.conform, before it looks up a target."""
    load()


def _points(kind: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a kind, each once, in a stable order."""
    group = f"touchstone.{KINDS[kind].group}"
    points = {(each.name, each.value): each for each in entry_points(group=group)}
    yield from (points[key] for key in sorted(points))


def _added(kind: str, point: EntryPoint) -> Plugin:
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"
    try:
        with redirect_stdout(sys.stderr):  # stdout may be JSON for a program
            KINDS[kind].add(point.name, point.load())
    except PluginError as error:
        return Plugin(kind, point.name, package, str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing a foreign module may raise anything
        why = f"{point.value} cannot be loaded ({_told(error)})"
        return Plugin(kind, point.name, package, why)
    return Plugin(kind, point.name, package, module=point.module)


def _told(error: BaseException) -> str:
    """Return the kind and message of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


# --- one function for each kind: check it, then add it to the table ------------------------------


def _made(name: str, given: Any, wanted: tuple[str, ...]) -> Any:
    """Return the plugin's object, or an instance if it is a class. Raise PluginError if it has
    another name than the entry point, or lacks an attribute named in `wanted`."""
    made = given() if isinstance(given, type) else given
    _check(made, wanted)
    if getattr(made, "name", name) != name:
        raise PluginError(f"its name is {made.name!r}, and the entry point's must be the same")
    return made


def _check(made: Any, wanted: tuple[str, ...]) -> None:
    """Raise PluginError if the object lacks one of these attributes, or has the wrong kind of value
    there."""
    if lacking := [each for each in wanted if not hasattr(made, each)]:
        raise PluginError(f"{type(made).__name__} lacks {', '.join(lacking)}")
    for each in wanted:
        words, fits = MUST_BE.get(each, ("a function", callable))
        if not fits(getattr(made, each)):
            raise PluginError(f"its {each} must be {words}, not {getattr(made, each)!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _are_all(kind: type) -> Callable[[Any], bool]:
    """Return a function that tells whether a value is a collection of objects of this kind."""
    return lambda value: (
        isinstance(value, tuple | list | set | frozenset)
        and all(isinstance(each, kind) for each in value)
    )


MUST_BE: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a text", lambda value: isinstance(value, str)),
    "title": ("a text", lambda value: isinstance(value, str)),
    "scope": ("a Scope", lambda value: isinstance(value, Enum)),
    "needs": ("a set of Needs", _are_all(Enum)),
    "faults": ("a set of classes of faults", _are_all(type)),
    "nodes_min": ("a whole number above 0", _is_count),
    "processes": ("a whole number above 0", _is_count),
    "judged_by": ("a tuple of names of checkers", _are_all(str)),
    "config": ("a mapping of settings", lambda value: isinstance(value, Mapping)),
}
"""The values that an attribute of a plugin may have, in words and as a test; every other attribute
is a function."""


def _add_to(table: Any, name: str, thing: Any) -> None:
    if name in table:
        raise PluginError(f"there is a {name!r} already; give it another name")
    table[name] = thing


def _add_guarantee(name: str, given: Any) -> None:
    from linearizability.checkers.base import Checker
    from linearizability.checkers.table import CHECKERS

    made = given() if isinstance(given, type) else given
    if not isinstance(made, Checker):
        raise PluginError("it is not a touchstone.kit.Checker; derive it from that class")
    _add_to(CHECKERS, name, _made(name, made, ("name", "title", "scope", "needs")))


def _add_importer(name: str, given: Any) -> None:
    from linearizability.importers.formats import IMPORTERS

    _add_to(IMPORTERS, name, _made(name, given, ("recognises", "convert")))


def _add_target(name: str, given: Any) -> None:
    from chaos.targets import TARGETS
    from chaos.values.protocols import TargetError

    if not callable(given):
        raise PluginError(
            "it is not a function that makes a target from two arguments: the text after the"
            " colon in --target NAME:…, and the planted bug or None"
        )

    def made(rest: str, bug: str | None) -> Any:
        try:
            target = given(rest, bug)
            _check(target, ("name", "faults", "start"))
            return target
        except TargetError:
            raise
        except Exception as error:
            why = str(error) if isinstance(error, PluginError) else _told(error)
            raise TargetError(
                f"the target {name!r} of a plugin cannot be made ({why}); correct the package, or"
                " uninstall it"
            ) from error

    _add_to(TARGETS, name, made)


def _add_nemesis(name: str, given: Any) -> None:
    from chaos.nemeses import NEMESES

    _add_to(NEMESES, name, _made(name, given, ("name", "faults", "nodes_min", "schedule")))


WORKLOADS_HAVE = (
    *("name", "judged_by", "processes", "nodes_min", "config"),
    *("topics", "settings", "operations", "final_operations"),
)


def _add_workload(name: str, given: Any) -> None:
    from chaos.record.shown import MUST_SHOW
    from chaos.workloads import WORKLOADS
    from linearizability.checkers.table import CHECKERS

    made = _made(name, given, WORKLOADS_HAVE)
    if unknown := [each for each in made.judged_by if each not in CHECKERS]:
        raise PluginError(f"judged_by names {', '.join(unknown)}, but no checker has this name")
    _add_to(WORKLOADS, name, made)
    MUST_SHOW.setdefault(name, tuple(getattr(made, "must_show", ())))


_CASES: list[ModuleType] = []


def _add_cases(name: str, given: Any) -> None:
    from conformance.reporting import listing
    from conformance.target.examination import CAMEL

    if not isinstance(given, ModuleType) or given.__file__ is None:
        raise PluginError("it is not a module or package of cases")
    for module in listing.modules_of(given):
        for listed in listing.cases_of(module):
            if listed.case.area in listing.AREAS:
                raise PluginError(
                    f"case {listed.case.id}: {listed.case.area} is an area of Touchstone's own;"
                    " name another"
                )
            if listed.case.api not in CAMEL.values():
                raise PluginError(f"case {listed.case.id}: no API is called {listed.case.api}")
    listing.FOLDERS.append(given)
    _CASES.append(given)


def case_files() -> list[str]:
    """Return the files and folders of the plugins' conformance cases, as arguments for pytest."""
    load()
    files = [Path(module.__file__ or "") for module in _CASES]
    return [str(file.parent if file.name == "__init__.py" else file) for file in files]


@dataclass(frozen=True)
class Kind:
    """A kind of plugin: the last word of its entry-point group, and the function that adds one."""

    group: str
    add: Callable[[str, Any], None]


KINDS = {
    "guarantee": Kind("guarantees", _add_guarantee),  # first: workloads name them
    "importer": Kind("importers", _add_importer),
    "target": Kind("targets", _add_target),
    "nemesis": Kind("nemeses", _add_nemesis),
    "workload": Kind("workloads", _add_workload),
    "cases": Kind("cases", _add_cases),
}
