"""Judge a partition log in O(n log n), using that offsets already give the order of the appends.

A log is explained if every append can be given one instant inside its interval, instants growing
with offsets, such that each read comes after the append of the last record it saw and, if it saw
the end of the log (b = 1), before the next one. These conditions are lower and upper bounds on the
instants of single appends. So: raise each lower bound to the highest among the offsets below, lower
each upper bound to the lowest among the offsets above, and compare. The answer is the same as that
of porcupine's search, with the offset at which the log contradicts itself.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from operator import attrgetter

from linearizability.porcupy.operations import NEVER, OK, UNKNOWN, Op, Operations
from linearizability.porcupy.python_models import LogKind
from linearizability.verdict import Validity


@dataclass(frozen=True)
class LogVerdict:
    """The verdict on one partition. offset, operations: the place of the contradiction, if it is
    INVALID."""

    key: int
    verdict: Validity
    message: str = ""
    offset: int | None = None
    operations: tuple[int, ...] = ()


class _RefutedError(Exception):
    def __init__(self, message: str, offset: int, *operations: int) -> None:
        super().__init__(message)
        self.offset, self.operations = offset, operations


class _UndecidedError(Exception):
    pass


_HOLE = "the record at offset {} is unknown; an append of unknown outcome may be there"


@dataclass(frozen=True)
class _Row:
    number: int
    call: int
    ret: int
    op: Op

    @property
    def first(self) -> int:
        """The offset of the first value."""
        return self.op.c if self.op.kind == LogKind.APPEND else self.op.a

    @property
    def end(self) -> int:
        """The offset after the last value."""
        return self.first + len(self.op.vals)


@dataclass
class _Bound:
    """A limit for the instant of an append, and the operation that sets the limit."""

    at: int
    by: int


def check_log(operations: Operations) -> list[LogVerdict]:
    """Judge every key of a history of the model `partition_log`, smallest key first. A verdict is
    UNKNOWN where an append of unknown outcome may fill a hole among the known offsets: there a
    search is needed. Raise ValueError for operations that the model does not allow (`_writers`)."""
    verdicts = []
    for key, index in operations.by_key():
        part = operations.take(index)
        columns = (index.tolist(), part.call.tolist(), part.ends.tolist(), part.rows())
        rows = [_Row(*row) for row in zip(*columns, strict=True)]
        try:
            _check_partition(rows)
        except _RefutedError as refuted:
            verdicts.append(
                LogVerdict(key, Validity.INVALID, str(refuted), refuted.offset, refuted.operations)
            )
        except _UndecidedError as undecided:
            verdicts.append(LogVerdict(key, Validity.UNKNOWN, str(undecided)))
        else:
            verdicts.append(LogVerdict(key, Validity.VALID))
    return verdicts


def _check_partition(rows: list[_Row]) -> None:
    appends, unplaced = _appends(rows)
    reads = [row for row in rows if row.op.kind == LogKind.READ and row.op.status == OK]
    lower = [_Bound(append.call, append.number) for append in appends]
    upper = [_Bound(append.ret, append.number) for append in appends]
    firsts = [append.first for append in appends]
    log_end = appends[-1].end if appends else 0
    for read in reads:
        if read.end > log_end and unplaced:
            raise _UndecidedError(_HOLE.format(log_end))
        if read.end > log_end:
            raise _RefutedError(
                "a read returned records past the end of the log", log_end, read.number
            )
        following = bisect_left(firsts, read.end)
        if following and read.ret < upper[following - 1].at:
            upper[following - 1] = _Bound(read.ret, read.number)
        if read.op.b != 1:
            continue
        if following and appends[following - 1].end != read.end:
            raise _RefutedError(
                "a read to the end of the log ends in the middle of a batch", read.end, read.number
            )
        if following < len(appends) and read.call > lower[following].at:
            lower[following] = _Bound(read.call, read.number)
    _compare(appends, lower, upper)


def _compare(appends: list[_Row], lower: list[_Bound], upper: list[_Bound]) -> None:
    for i in range(1, len(appends)):
        if lower[i - 1].at > lower[i].at:
            lower[i] = lower[i - 1]
    for i in reversed(range(len(appends) - 1)):
        if upper[i + 1].at < upper[i].at:
            upper[i] = upper[i + 1]
    for append, low, high in zip(appends, lower, upper, strict=True):
        if low.at > high.at:
            raise _RefutedError(
                f"the order of offsets contradicts real time at offset {append.first}: operation "
                f"{high.by} returned before operation {low.by} was called",
                append.first,
                low.by,
                high.by,
            )


def _appends(rows: list[_Row]) -> tuple[list[_Row], bool]:
    """Return the appends with a known offset, in the order of offsets and without a gap from 0, and
    whether there are other appends. Raise _RefutedError if nothing was appended at an offset below
    the end, _UndecidedError if an append without an offset may stand there."""
    writers = _writers(rows)
    log = _Log(writers)
    for row in rows:
        if row.op.status == OK:
            log.learn(row)
    placed, unplaced = [], False
    for row in rows:
        if row.op.kind != LogKind.APPEND:
            continue
        if row.op.status == OK:
            placed.append(row)
        elif (pinned := log.pin(row)) is not None:
            log.learn(pinned)
            placed.append(pinned)
        else:
            unplaced = True
    placed.sort(key=attrgetter("first"))
    position = 0
    for row in placed:
        if row.first != position and unplaced:
            raise _UndecidedError(_HOLE.format(position))
        if row.first != position:
            raise _RefutedError(f"nothing was appended at offset {position}", position, row.number)
        position = row.end
    return placed, unplaced


def _writers(rows: list[_Row]) -> dict[int, _Row]:
    """Return value -> its append. Raise ValueError for a status other than ok and unknown, an
    append without values, or a value that is appended twice."""
    writers: dict[int, _Row] = {}
    for row in rows:
        if row.op.status not in {OK, UNKNOWN}:
            raise ValueError(f"operation {row.number}: the status must be ok or unknown")
        if row.op.kind == LogKind.APPEND:
            if not row.op.vals or not writers.keys().isdisjoint(row.op.vals):
                raise ValueError(f"operation {row.number}: an append needs values of its own")
            writers.update(dict.fromkeys(row.op.vals, row))
    return writers


class _Log:
    """The log as acknowledgements and reads together show it: offset -> value and back."""

    def __init__(self, writers: dict[int, _Row]) -> None:
        self.writers = writers
        self.value_at: dict[int, int] = {}
        self.offset_of: dict[int, int] = {}

    def learn(self, row: _Row) -> None:
        if row.first < 0:
            raise _RefutedError(f"an operation names offset {row.first}", row.first, row.number)
        for offset, value in enumerate(row.op.vals, row.first):
            other = self.value_at.setdefault(offset, value)
            if other != value:
                raise _RefutedError(
                    f"offset {offset} holds both {other} and {value}", offset, row.number
                )
            elsewhere = self.offset_of.setdefault(value, offset)
            if elsewhere != offset:
                raise _RefutedError(
                    f"value {value} is at offsets {elsewhere} and {offset}", offset, row.number
                )
            if value not in self.writers:
                raise _RefutedError(
                    f"value {value} at offset {offset} was never appended", offset, row.number
                )

    def pin(self, row: _Row) -> _Row | None:
        """Return an append of unknown outcome with the offset at which reads saw it, and with NEVER
        as its end, or None if no read saw it."""
        for i, value in enumerate(row.op.vals):
            if value in self.offset_of:
                op = row.op._replace(status=OK, c=self.offset_of[value] - i)
                return _Row(row.number, row.call, NEVER, op)
        return None
