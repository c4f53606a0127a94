"""The search in pure Python, for models written in Python.

The algorithm is Wing and Gong's with Lowe's memory of configurations ("Testing for
linearizability", 2017), as porcupine has it. Events (calls and returns) are a linked list in order
of time. Before the first return, any call may take effect next: take it, remove its call and return
from the list, and continue. If nothing fits, put the last one back and try another. A configuration
(the operations taken, and the state) that was seen before is not tried again.

One addition: an operation that the model declares read-only and that fits now is taken at once and
never reconsidered. That loses nothing: in any order that has it later, it can be moved to now.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from linearizability.porcupy.operations import Column, Op, Operations
from linearizability.porcupy.python_models import PythonModel
from linearizability.porcupy.result import PartitionResult, Result, combine
from linearizability.verdict import Validity

_LOOK_EVERY: Final = 512
"""The number of steps between two checks of time and memory."""
_BYTES_PER_CONFIGURATION: Final = 200
"""An estimate of the bytes per remembered configuration, besides its mask and state: a tuple of
three, an int and a slot of a set."""


class _Limit(Exception):
    """Raised to stop the search; the text gives the reason."""


@dataclass
class _Budget:
    deadline: float
    memory_bytes: int
    steps: int = 0

    def look(self, seen: set[Any], mask: int, state: Hashable) -> None:
        if time.monotonic() > self.deadline:
            raise _Limit("no answer within the time limit")
        each = _BYTES_PER_CONFIGURATION + sys.getsizeof(mask) + sys.getsizeof(state)
        if len(seen) * each > self.memory_bytes:
            raise _Limit("the search reached its memory limit; raise memory_mib or cut the history")


class _Taken(NamedTuple):
    """An operation that was placed in the order, with the state to restore when it is removed
    again."""

    event: int
    state: Hashable
    base: int
    mask: int
    read_only: bool


class _Search:
    """One search over the operations of one key.

    Events (calls and returns) are numbered from 1 in order of time; 0 is the head of their linked
    list, `end` its end. The operations taken so far are the first `base` calls, and those with a
    bit in `mask` (bit i: call base + i).
    """

    def __init__(self, model: PythonModel, ops: list[Op], calls: Column, ends: Column) -> None:
        self.model, self.ops = model, ops
        self.read_only = [model.is_read_only(op) for op in ops]
        count = len(ops)
        # Closed intervals: at one instant calls come before returns.
        times = np.concatenate([calls, ends])
        is_return = np.repeat([0, 1], count)
        events = np.lexsort((is_return, times))
        self.end = 2 * count + 1
        self.next: list[int] = [*range(1, self.end + 1), -1]
        self.previous = list(range(-1, self.end))
        self.operation = [0, *(events % count).tolist(), 0] if count else [0, 0]
        self.returns = [True, *(events >= count).tolist(), True] if count else [True, True]
        self.rank, self.return_event = [0] * count, [0] * count
        rank = 0
        for event in range(1, self.end):
            number = self.operation[event]
            if self.returns[event]:
                self.return_event[number] = event
            else:
                self.rank[number] = rank
                rank += 1
        self.state: Hashable = model.init
        self.base = self.mask = 0
        self.taken: list[_Taken] = []
        self.seen: set[tuple[int, int, Hashable]] = set()
        self.best: list[int] = []

    def run(self, budget: _Budget) -> bool:
        """Return whether some order explains the operations; `best` is then that order, else the
        longest one found. Raise _Limit if the search takes too much time or memory."""
        while True:
            self._take_reads()
            if self.next[0] == self.end:
                self.best = [self.operation[t.event] for t in self.taken]
                return True
            configuration = (self.base, self.mask, self.state)
            event = 0
            if configuration not in self.seen:
                self.seen.add(configuration)
                event = self.next[0]
            while not self._take_one_from(event):
                budget.steps += 1
                if budget.steps % _LOOK_EVERY == 0:
                    budget.look(self.seen, self.mask, self.state)
                self._remember_best()
                if not self._put_back_reads():
                    return False
                event = self._put_back()

    def _take_reads(self) -> None:
        """Take every read-only operation that fits now. They do not change the state, so one pass
        is enough."""
        event = self.next[0]
        while not self.returns[event]:
            number = self.operation[event]
            if self.read_only[number] and self.model.step(self.state, self.ops[number]) is not None:
                self._take(event, self.state)
                # Go on from the event before: the one after may be the return that was removed.
                event = self.previous[event]
            event = self.next[event]

    def _take_one_from(self, event: int) -> bool:
        """Take the first operation from this call on that fits; return False if there is none."""
        while not self.returns[event]:
            number = self.operation[event]
            if not self.read_only[number]:
                state = self.model.step(self.state, self.ops[number])
                if state is not None:
                    self._take(event, state)
                    return True
            event = self.next[event]
        return False

    def _take(self, event: int, state: Hashable) -> None:
        number = self.operation[event]
        self.taken.append(_Taken(event, self.state, self.base, self.mask, self.read_only[number]))
        for gone in (event, self.return_event[number]):
            before, after = self.previous[gone], self.next[gone]
            self.next[before], self.previous[after] = after, before
        self.state = state
        self.mask |= 1 << (self.rank[number] - self.base)
        while self.mask & 1:
            self.mask >>= 1
            self.base += 1

    def _put_back(self) -> int:
        """Undo the last operation taken; return the event after its call."""
        last = self.taken.pop()
        for back in (self.return_event[self.operation[last.event]], last.event):
            before, after = self.previous[back], self.next[back]
            self.next[before] = self.previous[after] = back
        self.state, self.base, self.mask = last.state, last.base, last.mask
        return self.next[last.event]

    def _put_back_reads(self) -> bool:
        """Undo the read-only operations at the end of those taken. Return False if nothing else was
        taken, so that no other order is left to try."""
        while self.taken and self.taken[-1].read_only:
            self._put_back()
        return bool(self.taken)

    def _remember_best(self) -> None:
        if len(self.taken) > len(self.best):
            self.best = [self.operation[t.event] for t in self.taken]


def check_by_kernel(
    model: PythonModel, operations: Operations, *, timeout_s: float, memory_mib: int
) -> Result:
    """Search for an order of the operations of every key in Python, and return the result.
    timeout_s is for all keys together, memory_mib for each; beyond them a key is UNKNOWN."""
    budget = _Budget(time.monotonic() + timeout_s, memory_mib << 20)
    return combine(
        _check_key(model, index, operations.take(index), budget) for _, index in operations.by_key()
    )


def _check_key(
    model: PythonModel, index: Column, operations: Operations, budget: _Budget
) -> PartitionResult:
    """Judge the operations of one key. index: their numbers in the whole history, by which the
    result names them."""
    started = time.monotonic()
    search = _Search(model, list(operations.rows()), operations.call, operations.ends)
    message, blocked = "", np.empty(0, dtype=np.int64)
    try:
        verdict = Validity.VALID if search.run(budget) else Validity.INVALID
    except _Limit as limit:
        verdict, message = Validity.UNKNOWN, str(limit)
    if verdict is Validity.INVALID:
        blocked = _blocked(operations, search.best)
    return PartitionResult(
        key=int(operations.key[0]),
        verdict=verdict,
        operations=len(operations),
        seconds=time.monotonic() - started,
        message=message,
        linearization=tuple(index[np.array(search.best, dtype=np.int64)].tolist()),
        blocked=tuple(index[blocked].tolist()),
    )


def _blocked(operations: Operations, placed: list[int]) -> Column:
    """Return the operations outside the longest order found (`placed`) that were in progress when
    the first of them returned, in the order of their returns."""
    waiting = np.setdiff1d(np.arange(len(operations)), np.array(placed, dtype=np.int64))
    waiting = waiting[np.argsort(operations.ends[waiting], kind="stable")]
    still_open: Column = waiting[operations.call[waiting] <= operations.ends[waiting[0]]]
    return still_open
