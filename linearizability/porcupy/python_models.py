"""Models in Python for the pure-Python kernel: the user's own, and two that the executable has as
well.

A model is a start state, a pure `step(state, op) -> next state, or None if op cannot happen now`,
and optionally `is_read_only(op)`. States must be hashable. An operation of status UNKNOWN may
happen at any time after its call: `step` must accept it in any state, and return the state after
its effect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

from linearizability.porcupy.operations import UNKNOWN, Op


def _nothing_is_read_only(_op: Op) -> bool:
    return False


@dataclass(frozen=True)
class PythonModel:
    """A sequential specification. init: the first state. step(state, op): the next state, or None
    if op cannot happen now. is_read_only(op): whenever op can happen, it leaves the state as it is.
    Such operations are linearized at once, which shortens the search."""

    init: Hashable
    step: Callable[[Any, Op], Hashable | None]
    is_read_only: Callable[[Op], bool] = _nothing_is_read_only
    name: str = "python"


class LogKind:
    """The kinds of operations on a partition log: a sequence of values, empty at first, appended to
    at its end."""

    APPEND: Final = 0
    """An append. vals: the values, appended together; c: the offset of the first (ignored if
    unknown)."""
    READ: Final = 1
    """A read. vals: the values from offset a on; b = 1: the reader saw the end of the log, b = 0:
    there may have been more (a Kafka fetch proves no more than that)."""


class RegisterKind:
    """The kinds of operations on the register. Its state: one integer, 0 at first."""

    WRITE: Final = 0
    """A write. a: the value written."""
    READ: Final = 1
    """A read. c: the value read."""
    COMPARE_AND_SWAP: Final = 2
    """A compare-and-swap. a: the expected value, b: the new value, c: 1 if swapped, 0 if another
    value was found."""


def _step_log(log: tuple[int, ...], op: Op) -> tuple[int, ...] | None:
    if op.kind == LogKind.APPEND:
        return log + op.vals if op.status == UNKNOWN or op.c == len(log) else None
    if op.status == UNKNOWN:
        return log
    end = op.a + len(op.vals)
    reached = end == len(log) if op.b == 1 else end <= len(log)
    return log if reached and op.a >= 0 and log[op.a : end] == op.vals else None


def _step_register(value: int, op: Op) -> int | None:
    if op.kind == RegisterKind.WRITE:
        return op.a
    if op.kind == RegisterKind.READ:
        return value if op.status == UNKNOWN or op.c == value else None
    if op.status == UNKNOWN:
        return op.b if value == op.a else value
    if op.c == 1:
        return op.b if value == op.a else None
    return value if value != op.a else None


def _register_reads(op: Op) -> bool:
    refused = op.kind == RegisterKind.COMPARE_AND_SWAP and op.status != UNKNOWN and op.c == 0
    return op.kind == RegisterKind.READ or refused


PARTITION_LOG = PythonModel((), _step_log, lambda op: op.kind == LogKind.READ, "partition_log")
"""The model whose state is the whole log. It is slower than the executable's, and serves to check
it."""

REGISTER = PythonModel(0, _step_register, _register_reads, "register")
