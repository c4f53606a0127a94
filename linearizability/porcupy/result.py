"""The result of a search: one verdict per partition, and one of all of them together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from linearizability.verdict import Validity


@dataclass(frozen=True)
class PartitionResult:
    """The verdict on the operations of one key.

    linearization: the longest legal order found, as operation numbers. blocked: the operations that
    could not follow it, in the order of their returns (the first one is where the history
    contradicts itself).
    """

    key: int
    verdict: Validity
    operations: int
    seconds: float = 0.0
    message: str = ""
    linearization: tuple[int, ...] = ()
    blocked: tuple[int, ...] = ()


@dataclass(frozen=True)
class Result:
    """The verdict on all operations: INVALID if any partition is, else UNKNOWN if any is, else
    VALID.

    reason: why it is not VALID, one sentence.  html: the drawing, if one was asked for and made.
    """

    verdict: Validity
    partitions: tuple[PartitionResult, ...]
    reason: str | None = None
    html: Path | None = None


@dataclass(frozen=True)
class Annotation:
    """Something to draw beside the operations, e.g. a fault: times as in the operations."""

    tag: str
    start: int
    end: int
    description: str
    details: str = ""
    colour: str = "#f4c7c3"


def combine(
    partitions: Iterable[PartitionResult], problem: str | None = None, html: Path | None = None
) -> Result:
    """Merge many results into one; `problem` is why the search ended before it was done, if it did.
    If nothing was judged, the result is UNKNOWN."""
    found = tuple(partitions)
    for verdict in (Validity.INVALID, Validity.UNKNOWN):
        first = next((p for p in found if p.verdict is verdict), None)
        if first is not None:
            text = first.message or "no order of the operations explains their results"
            return Result(verdict, found, f"partition {first.key}: {text}", html)
    if problem is not None:
        return Result(Validity.UNKNOWN, found, problem, html)
    if not found:
        return Result(Validity.UNKNOWN, found, "there are no operations", html)
    return Result(Validity.VALID, found, None, html)
