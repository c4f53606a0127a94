"""The table clause -> assertion: each requirement, and what the code of its case compares.

Both sides are derived from the cases: the requirement is the docstring, the assertions are found in
the function and in the helpers that it calls.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from conformance.reporting.listing import Listed
from conformance.target.examination import CAMEL
from reference_impl.wire import ErrorCode

WHAT = {"expect": 2, "expect_that": 1, "eventually": 2, "each": 1, "Deviation": 0}
"""Function that compares -> the position of the argument that names what is compared."""
NAMED = re.compile(r"\b([A-Z][A-Z0-9_]{3,})(?: \(|, )(-?\d+)\)")
"""An error in a requirement: its name and its number."""
NUMBER = re.compile(r"(?<![\w.,-])-?\d+\b")
SAYS_ABSENT = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND})
"""The errors by which a case sees that nothing was made; "it is not created" need not name them."""
HELPERS_DEEP = 3
FRAMEWORK = frozenset(
    {"conformance.case", "conformance.connection", "conformance.patience", "conformance.wire"}
)
"""The modules that cases use and that have no requirement of their own."""


@dataclass(frozen=True)
class Clauses:
    """The requirement of one case function, and what the function compares."""

    listed: Listed
    compared: tuple[str, ...]
    named: frozenset[ErrorCode]
    own: frozenset[ErrorCode]
    """The errors that the function itself compares with, without those of its helpers."""
    reachable: frozenset[ErrorCode]

    def violations(self) -> Iterator[str]:
        """Yield a sentence for each error that the requirement names and no code compares with, for
        each that the function itself compares with and the requirement does not name (except NONE
        and SAYS_ABSENT), for each wrong number of an error in the requirement, and if the code
        compares nothing."""
        where = f"{self.listed.file}: {self.listed.case.function}"
        requirement = self.listed.case.requirement
        for name, number in NAMED.findall(requirement):
            if name in ErrorCode.__members__ and ErrorCode[name] != int(number):
                yield f"{where}: {name} is {int(ErrorCode[name])}, not {number}"
        for error in sorted(self.named - self.reachable):
            yield f"{where}: the requirement names {error.name}, which no line compares with"
        numbers = {int(number) for number in NUMBER.findall(requirement)}
        for error in sorted(self.own - self.named - SAYS_ABSENT - {ErrorCode.NONE}):
            if int(error) not in numbers and error.name not in requirement:
                yield f"{where}: it compares with {error.name}, which the requirement does not name"
        if not self.compared:
            yield f"{where}: it compares nothing"


def clauses_of(listed: Listed) -> Clauses:
    """Return requirement and assertions of one case function."""
    function = listed.function
    helpers = list(_closure(function, HELPERS_DEEP))
    named = {name for name, _ in NAMED.findall(listed.case.requirement)}
    return Clauses(
        listed,
        tuple(dict.fromkeys(what for helper in helpers for what in _compared(helper))),
        frozenset(ErrorCode[name] for name in named if name in ErrorCode.__members__),
        frozenset(_errors(function)),
        frozenset(error for helper in helpers for error in _errors(helper)),
    )


@cache
def apis_named(function: FunctionType) -> frozenset[str]:
    """Return the APIs that the code of a case names, itself or in helpers, also in tables: all that
    it can send by name, and perhaps more."""
    names: set[str] = set()
    for helper in _closure(function, HELPERS_DEEP):
        constants = [word for code in _codes(helper.__code__) for word in code.co_consts]
        for value in (*constants, *_globals_of(helper)):
            several = isinstance(value, dict | list | tuple | set | frozenset)
            names |= {word for word in (value if several else [value]) if isinstance(word, str)}
    return frozenset(names & set(CAMEL.values()))


def clause_table(cases: Iterable[Listed]) -> str:
    """Return requirement and assertions of every case as Markdown."""
    lines = ["| case | function | requirement | compared |", "|---|---|---|---|"]
    for listed in cases:
        compared = "; ".join(clauses_of(listed).compared)
        cells = (listed.case.id, listed.sentence, listed.case.requirement, compared)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _closure(function: FunctionType, depth: int) -> Iterator[FunctionType]:
    """Yield a function and the helpers of this suite that it refers to, up to `depth` calls away,
    each once."""
    level, seen = [function], {function}
    yield function
    for _ in range(depth):
        level = [h for found in level for h in _helpers(found) if h not in seen]
        level = list(dict.fromkeys(level))
        seen.update(level)
        yield from level


@cache
def _helpers(function: FunctionType) -> tuple[FunctionType, ...]:
    found: list[FunctionType] = []
    for value in _globals_of(function):
        methods = vars(value).values() if isinstance(value, type) else (value,)
        for method in methods:
            plain = inspect.unwrap(getattr(method, "__func__", method))
            if isinstance(plain, FunctionType) and _is_written_here(plain):
                found.append(plain)
    return tuple(found)


def _is_written_here(function: FunctionType) -> bool:
    """Return whether the function was written in this suite: False for functions of others, and for
    those that a dataclass has generated."""
    is_ours = function.__module__.startswith("conformance.")
    return is_ours and not function.__code__.co_filename.startswith("<")


def _globals_of(function: FunctionType) -> list[Any]:
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    return [function.__globals__[name] for name in sorted(names & set(function.__globals__))]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def _errors(function: FunctionType) -> frozenset[ErrorCode]:
    """Return the errors that a function names, directly, by a constant or as a parameter."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    found = {ErrorCode[name] for name in names & set(ErrorCode.__members__)}
    marks = [mark.args for mark in getattr(function, "pytestmark", [])]
    for value in (*_globals_of(function), marks, function.__defaults__ or ()):
        found |= set(_errors_in(value))
    return frozenset(found)


def _errors_in(value: Any) -> Iterator[ErrorCode]:
    if isinstance(value, ErrorCode):
        yield value
    elif isinstance(value, dict):
        yield from _errors_in([*value, *value.values()])
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _errors_in(part)


@cache
def _compared(function: FunctionType) -> tuple[str, ...]:
    """Return the subject that each comparison of a function names."""
    if function.__module__ in FRAMEWORK:
        return ()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return tuple(
        _text(call.args[WHAT[call.func.id]])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and len(call.args) > WHAT.get(call.func.id, len(call.args))
    )


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(v) if isinstance(v, ast.Constant) else "…" for v in node.values)
    return f"`{ast.unparse(node)}`"
