"""Each kind of anomaly that a checker may report has been seen: in a history written by hand, and
in one that the self-test has broken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from linearizability import checkers
from linearizability.guarantees import GUARANTEES
from linearizability.hand_written.histories import INVALID
from linearizability.self_test.clauses import MUTATORS

ROOT = Path(checkers.__file__).parents[2]
KIND = re.compile(r"[a-z]+(-[a-z]+)+")
NOT_KINDS = {"in-memory", "porcupine-check"}
"""Words that look like a kind of anomaly but are not: an engine of polars, and a program."""


def modules_of_the_checkers() -> Iterator[Path]:
    """Yield the modules that the checkers are made of: all of ours that they import."""
    waiting = ["linearizability.checkers.table"]
    waiting += [f"linearizability.guarantees.{name}.rule" for name in GUARANTEES]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        file = ROOT / (name.replace(".", "/") + ".py")
        file = file if file.is_file() else ROOT / name.replace(".", "/") / "__init__.py"
        if name in seen or not name.startswith("linearizability.") or not file.is_file():
            continue
        seen.add(name)
        yield file
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]


def kinds_in_the_code() -> set[str]:
    texts = {
        node.value
        for file in modules_of_the_checkers()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if KIND.fullmatch(text)} - NOT_KINDS


def test_the_self_test_plants_each_kind() -> None:
    planted = {kind for kinds in MUTATORS.values() for some in kinds.values() for kind in some}
    assert kinds_in_the_code() - planted == set()


def test_each_kind_has_a_history_written_by_hand() -> None:
    written = {
        kind for cases in INVALID.values() for _, found in cases.values() for kind, _ in found
    }
    assert kinds_in_the_code() - written == set()
