"""Declare a conformance case: one function whose name is the behaviour and whose docstring is the
requirement.

`@case` states the API, the versions, the citation and the catalogue id. The possible results are
pass, fail and unsupported (the target does not advertise, or its owner does not allow, what the
case needs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, TypeVar

Priority = Literal["P0", "P1", "P2"]
Requirement = Literal[
    "restart", "auto-create", "single-broker", "quick-cleanup", "settings-it-may-lack"
]
"""The needs of a case besides the API: that the target can be killed and started again; that it
creates topics on first use; that all partitions live on the one bootstrap broker; that retention
and compaction are done every moment, not every few minutes; that it starts with the settings of the
case, which are of a feature that brokers need not have."""

Function = TypeVar("Function", bound=Callable[..., None])
Row = TypeVar("Row")


@dataclass(frozen=True)
class Case:
    """The facts that `@case` states about a function. versions: the first and last version to which
    the requirement applies. They are None if the case chooses its versions itself (it has no
    `version` parameter)."""

    id: str
    api: str
    versions: tuple[int, int] | None
    spec: str
    priority: Priority
    requires: frozenset[str]
    requirement: str
    function: str
    config: tuple[tuple[str, str], ...] = ()

    @property
    def area(self) -> str:
        """The first part of the id: "PROD" of "PROD-05"."""
        return self.id.partition("-")[0]


class Deviation(AssertionError):
    """The target's response differs from what the requirement demands."""

    def __init__(self, what: str, expected: object, actual: object) -> None:
        super().__init__(f"{what}: expected {expected}, actual {actual}")
        self.what, self.expected, self.actual = what, expected, actual


class Unsupported(Exception):
    """The case cannot be judged, which is neither a pass nor a fail: the target does not advertise
    what it needs, a setting forbids it, or the terms of the examination do."""


def case(
    id: str,
    api: str,
    *,
    versions: tuple[int, int] | None = None,
    spec: str,
    priority: Priority = "P0",
    requires: Iterable[Requirement] = (),
    config: Mapping[str, str] | None = None,
) -> Callable[[Function], Function]:
    """Declare a conformance case (nearest the function, below any pytest.mark.parametrize).

    id: the number in the catalogue, such as "PROD-05". api: the name of the ApiKey, such as
    "Produce". versions: as in `Case`. spec: KIP and heading, schema file and field, or Java class;
    never a section number. config: broker settings that the requirement needs to be visible; the
    case then runs on a second instance of the target, started with them
    (conformance/target/variants.py). Raise TypeError for a function without a docstring.
    """

    def declare(function: Function) -> Function:
        requirement = " ".join((function.__doc__ or "").split())
        if not requirement:
            raise TypeError(f"{function.__name__}: a case states its requirement as docstring")
        stated = Case(
            id,
            api,
            versions,
            spec,
            priority,
            frozenset(requires),
            requirement,
            function.__name__,
            tuple(sorted((config or {}).items())),
        )
        setattr(function, "case", stated)  # noqa: B010 - functions have no declared attribute
        return function

    return declare


def case_of(function: Any) -> Case | None:
    """Return the Case that `@case` attached to a test function, or None."""
    found = getattr(function, "case", None)
    return found if isinstance(found, Case) else None


def expect(actual: object, expected: object, what: str = "answer") -> None:
    """Raise Deviation unless actual equals expected or, if expected is a set or frozenset, is in
    it."""
    if isinstance(expected, (set, frozenset)):
        if actual not in expected:
            allowed = " or ".join(sorted(_named(e) for e in expected))
            raise Deviation(what, allowed, _named(_like(actual, expected)))
    elif actual != expected:
        raise Deviation(what, _named(expected), _named(_like(actual, (expected,))))


def each(rows: Iterable[Row], what: str = "rows of the answer", at_least: int = 1) -> list[Row]:
    """Return the rows of a response to loop over. Raise Deviation if there are fewer than
    at_least."""
    found = list(rows)
    if len(found) < at_least:
        raise Deviation(f"number of {what}", f">= {at_least}", len(found))
    return found


def expect_that(condition: bool, what: str, expected: object, actual: object) -> None:
    """Raise Deviation, which reports `what`, expected and actual, unless the condition holds."""
    if not condition:
        raise Deviation(what, expected, actual)


def _like(actual: object, expected: Iterable[object]) -> object:
    """Return actual for display: if it is a number and `expected` has a member of an enumeration,
    actual's name there, if it has one."""
    for value in expected:
        if isinstance(value, IntEnum) and isinstance(actual, int):
            try:
                return type(value)(actual)
            except ValueError:
                return actual
    return actual


def _named(value: object) -> str:
    name = getattr(value, "name", None)
    return f"{name}({int(value)})" if name and isinstance(value, int) else repr(value)
