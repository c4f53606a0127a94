"""Write the reference pages of the site from the code: commands, files, checkers, cases, faults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from chaos.listing import list_markdown
from chaos.targets.foreign.foreign_file import FAULT_COMMANDS, NODE_KEYS, TOP
from chaos.values.fault_kinds import FAULTS
from ci.cli import app
from ci.ui.entry import Entry
from conformance.reporting.listing import list_cases
from linearizability.checkers.table import CHECKERS
from linearizability.history import COLUMNS
from linearizability.stories.model import Group
from linearizability.verdict import Anomaly, CheckerVerdict, Verdict

WRITTEN = "*Written from the code; `python -m ci.docs` writes it again.*\n"


def pages() -> dict[str, str]:
    """Return path in the site -> Markdown of the page."""
    return {
        "reference/commands.md": commands(),
        "reference/cluster.md": cluster_file(),
        "reference/files.md": files(),
        "reference/checkers.md": checkers(),
        "reference/cases.md": f"# Cases\n\n{WRITTEN}\n{list_cases('markdown')}\n",
        "reference/faults.md": faults(),
    }


def commands() -> str:
    """Return the page of all commands and their options."""
    root = get_command(app)
    parts = [
        "# Commands",
        WRITTEN,
        "Exit status everywhere: **0** valid or passed, **1** invalid or failed, **2** a wrong "
        "option or environment, **3** unknown.",
    ]
    for name, command in _walked("touchstone", root):
        parts += [f"## {name}", _plain(command.help or "")]
        rows = list(_options(command))
        if rows:
            parts.append(_table(("option", "meaning", "default"), rows))
    return "\n\n".join(parts) + "\n"


def _walked(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield (full name, command) for each command that a user can type."""
    if isinstance(command, TyperGroup):
        if command.invoke_without_command:
            yield name, command
        for word, inner in sorted(command.commands.items()):
            yield from _walked(f"{name} {word}", inner)
    else:
        yield name, command


def _options(command: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (words, meaning, default) of each option or argument of a command."""
    for each in command.params:
        kind = each.metavar or str(each.name).upper()
        if isinstance(each, TyperOption):
            names = ", ".join(f"`{word}`" for word in (*each.opts, *each.secondary_opts))
            words = names if each.is_flag else f"{names} `{kind}`"
        else:
            words = f"`{kind}`"
        is_told = isinstance(each.default, int | float | str | Path) and each.default not in (
            False,
            "",
        )
        yield words, _plain(str(each.help or "")), f"`{each.default}`" if is_told else ""


def cluster_file() -> str:
    """Return the page of the keys of touchstone.toml."""
    node = ((f"`{key}`", kind.__name__) for key, kind in NODE_KEYS.items())
    undone = (
        (f"`{key}`", f"`{undo}`", ", ".join(f"`{word}`" for word in needed))
        for key, (undo, needed) in FAULT_COMMANDS.items()
    )
    return "\n\n".join(
        (
            "# touchstone.toml",
            WRITTEN,
            "What each key does, with examples: [Your own cluster](../foreign.md). A key that is "
            "not listed here is refused.",
            "## At the top",
            _table(("key", "type"), ((f"`{key}`", kind.__name__) for key, kind in TOP.items())),
            "## In each `[[node]]`",
            _table(("key", "type"), node),
            "## Commands that cause a fault",
            _table(("command", "ended by", "must contain"), undone),
        )
    )


def files() -> str:
    """Return the page that describes the files of a run directory."""
    columns = ((f"`{name}`", f"`{kind}`", meaning) for name, (kind, meaning) in COLUMNS.items())
    return "\n\n".join(
        (
            "# Files of a run",
            WRITTEN,
            "`run.json` says which run this was and how it went: its scenario, versions, the "
            "command that repeats it, counts, problems and notes. Its `version` grows when a "
            "reader of the older form could misread it; older ones stay readable.",
            "## history.parquet",
            "A row for each operation and record.",
            _table(("column", "type", "meaning"), columns),
            "## verdict.json",
            *(_record(kind) for kind in (Verdict, CheckerVerdict, Anomaly, Group)),
            "## What `touchstone ui` lists of a run",
            _record(Entry, with_name=False),
        )
    )


def _record(kind: type[Any], *, with_name: bool = True) -> str:
    told = f"{_doc(kind)}\n\n" + _table(
        ("field", "type"), ((f"`{field.name}`", f"`{field.type}`") for field in fields(kind))
    )
    return f"### {kind.__name__}\n\n{told}" if with_name else told


def checkers() -> str:
    """Return the page of all checkers with their guarantees."""
    parts = [
        "# Checkers",
        WRITTEN,
        "With a picture of each one broken: [Guarantees](../guarantees.md).",
    ]
    for name, checker in CHECKERS.items():
        parts += [f"## {name}", f"**{checker.title}**; scope: {checker.scope.name.lower()}."]
        parts.append(_doc(type(checker) if not inspect.isclass(checker) else checker))
    return "\n\n".join(parts) + "\n"


def faults() -> str:
    """Return the page of all faults, and of the combinations of workload, nemesis and target that
    can run."""
    rows = ((f"`{name}`", _doc(fault).replace("\n", " ")) for name, fault in FAULTS.items())
    return "\n\n".join(
        (
            "# Faults, nemeses, workloads",
            WRITTEN,
            _table(("fault", "what it does"), rows),
            list_markdown(),
        )
    )


def _doc(thing: type[Any]) -> str:
    return _plain(inspect.getdoc(thing) or "")


def _plain(text: str) -> str:
    """Return a docstring as Markdown in which `<` and `*` are literal."""
    return re.sub(r"([<*])", r"\\\1", inspect.cleandoc(text))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    def line(cells: Sequence[object]) -> str:
        words = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
        return f"| {' | '.join(words)} |"

    return "\n".join((line(heads), line(["---"] * len(heads)), *map(line, rows)))
