"""Operations as columns: what the executable reads and the kernels of this folder work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

OK: Final = 0
"""The status of an operation that happened, with the result in its columns."""
UNKNOWN: Final = 1
"""The status of an unknown outcome: it may happen at any time after its call, or never."""
NEVER: Final = 2**62
"""The return time of an operation that never returned."""

COLUMNS: Final = ("call", "ret", "client", "key", "kind", "a", "b", "c", "status", "vlen")
"""The columns in the order of the wire format. `vlen` is the number of the operation's values in
`vals`."""

Column = npt.NDArray[np.int64]


class Op(NamedTuple):
    """One operation as a model's `step` sees it; a model gives each number its meaning."""

    kind: int
    a: int
    b: int
    c: int
    status: int
    vals: tuple[int, ...]


@dataclass(frozen=True)
class Operations:
    """A history as a struct of arrays.

    call, ret: closed interval of integer times. client: row in a drawing. key: operations of
    different keys are judged separately. kind, a, b, c, vals: the model defines their meaning;
    vlen: how many of vals each operation has. status: OK, UNKNOWN or a number of the model's own.
    labels: text for the drawing, one per operation or none; the first line stands in its box, the
    rest appears when a viewer points at it. Raise ValueError if their lengths do not fit together,
    or if an operation returns before it was called.
    """

    call: Column
    ret: Column
    client: Column
    key: Column
    kind: Column
    a: Column
    b: Column
    c: Column
    status: Column
    vlen: Column
    vals: Column
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*COLUMNS, "vals"):
            column = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if column.ndim != 1 or (name != "vals" and len(column) != len(self.call)):
                raise ValueError(f"operations: column {name!r} must have one value per operation")
            object.__setattr__(self, name, column)
        if self.labels and len(self.labels) != len(self.call):
            raise ValueError("operations: give one label per operation, or none")
        early = np.flatnonzero((self.ret < self.call) & (self.status != UNKNOWN))
        if len(early):
            raise ValueError(f"operations: number {early[0]} returns before it was called")
        if np.any(self.vlen < 0) or int(self.vlen.sum()) != len(self.vals):
            raise ValueError("operations: column 'vlen' does not add up to the length of 'vals'")

    def __len__(self) -> int:
        return len(self.call)

    @property
    def ends(self) -> Column:
        """Return times as a search sees them: an operation of unknown outcome never returns."""
        return np.where(self.status == UNKNOWN, NEVER, self.ret)

    def rows(self) -> Iterator[Op]:
        """Yield the operations one by one, in the form that models use."""
        vals = self.vals.tolist()
        start = 0
        columns = (getattr(self, name).tolist() for name in ("kind", "a", "b", "c", "status"))
        for kind, a, b, c, status, count in zip(*columns, self.vlen.tolist(), strict=True):
            yield Op(kind, a, b, c, status, tuple(vals[start : start + count]))
            start += count

    @cached_property
    def _starts(self) -> Column:
        """Return the index at which the values of each operation start."""
        starts: Column = np.cumsum(self.vlen) - self.vlen
        return starts

    def by_key(self) -> Iterator[tuple[int, Column]]:
        """Yield each key, smallest first, and the numbers of its operations."""
        order = np.argsort(self.key, kind="stable")
        keys, starts = np.unique(self.key[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]  # one too many where there are no keys
        for key, start, end in zip(keys.tolist(), starts.tolist(), ends, strict=False):
            yield key, order[start:end]

    def take(self, index: Column | Sequence[int]) -> Operations:
        """Return only the operations with these numbers, in this order."""
        chosen = np.asarray(index, dtype=np.int64)
        spans = zip(self._starts[chosen].tolist(), self.vlen[chosen].tolist(), strict=True)
        pieces = [self.vals[start : start + count] for start, count in spans]
        columns = {name: getattr(self, name)[chosen] for name in COLUMNS}
        vals = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
        labels = tuple(self.labels[i] for i in chosen) if self.labels else ()
        return Operations(**columns, vals=vals, labels=labels)


class OperationsBuilder:
    """Collects operations row by row: `add(...)` each, then `build()`."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._vals: list[int] = []
        self._labels: list[str] = []

    def add(
        self,
        call: int,
        ret: int | None,
        kind: int,
        *,
        client: int = 0,
        key: int = 0,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        status: int = OK,
        vals: Iterable[int] = (),
        label: str = "",
    ) -> None:
        """Add one operation. `ret` is None if it never returned."""
        before = len(self._vals)
        self._vals.extend(vals)
        end = NEVER if ret is None else ret
        count = len(self._vals) - before
        self._rows.append((call, end, client, key, kind, a, b, c, status, count))
        self._labels.append(label)

    def build(self) -> Operations:
        """Return the operations as columns. Raise ValueError for an operation that returns before
        it was called, naming the first."""
        table = np.array(self._rows, dtype=np.int64).reshape(-1, len(COLUMNS))
        columns = {name: table[:, i] for i, name in enumerate(COLUMNS)}
        labels = tuple(self._labels) if any(self._labels) else ()
        return Operations(**columns, vals=np.array(self._vals, dtype=np.int64), labels=labels)
