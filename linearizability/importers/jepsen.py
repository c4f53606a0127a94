"""Jepsen's Kafka histories: history.edn or JSON lines -> the data frame that our judges read.

Source: jepsen/src/jepsen/tests/kafka.clj, the comment at its head. Their terms mean the following
in our format:

- A key is a partition: an integer is a partition of the topic "jepsen", a name is a topic of its
  own. Values are unique per key. An operation is numbered by the index of its completion.
- f=txn with `ok` is a committed transaction, with `fail` an aborted one; anything else is unknown.
  The same holds for a single send operation. A record's send counts as acknowledged if its offset
  is known.
- If an ok operation polled a record of an operation of unknown end, the latter has committed as a
  whole; readers that went past its other records must have polled them (`decided.py`).
- All polls are read_committed, whatever the outcome of the polling operation.
- A process keeps its position in a key from one ok operation to the next. The position is set again
  when assign or subscribe drops the key. All positions are set again when the process crashes,
  seeks to the beginning, or polls with an unknown result. A failed operation leaves positions
  unchanged, since it must be rewound. Between the operations of a subscriber, the group may
  rebalance at any time; during an operation, the keys of its rebalance-log were rebalanced.
- A process that was assigned keys and sought the beginning reads from offset 0 on.
- All processes that ever subscribed form one group; `member_id` is set on rows that they read while
  they were subscribed.
- The actions of the nemesis are faults (`nemesis.py`).
- Events with `final` true are the final read. Without such events, the whole file counts as
  complete: rows after the last event say that each partition was read to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from os.path import isdir
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from linearizability.files.unreadable import shown
from linearizability.history import HistoryError
from linearizability.importers import edn, jsonl
from linearizability.importers.columns import (
    ASSIGN,
    FAIL,
    INFO,
    NONE,
    OK,
    POLL,
    POSITION,
    READ_ALL,
    Collected,
    series,
)
from linearizability.importers.columns import NEMESIS as OF_NEMESIS
from linearizability.importers.events import (
    CRASH,
    INT32_MAX,
    NUMBER_MAX,
    WITH_KEYS,
    WITH_MICRO_OPERATIONS,
    Event,
    Operation,
    Pairing,
    Reader,
    says,
)
from linearizability.importers.micro import (
    INT64_MAX,
    TOPIC,
    Places,
    Poll,
    Send,
    has_untold_polls,
    in_pairs,
    keys_of,
    micro_operations,
    polls,
    rebalanced_keys,
)
from linearizability.importers.nemesis import faults
from linearizability.importers.plain_runs import PlainRuns, runs_in
from linearizability.importers.rows import Rows
from linearizability.importers.sessions import Sessions
from linearizability.importers.source import blocks, lines, without_collection
from linearizability.schema import SCHEMA, plain_arrow

CLIENT = GROUP = "jepsen"
SUFFIXES = (".edn", ".jsonl", ".ndjson", ".json")
NEMESIS = -1
_WRITING = {"compression": "lz4", "write_statistics": False}  # no reader uses statistics
FILES_OF_A_RUN = ("history.edn", "history.jsonl")
_TYPES = {"ok": OK, "fail": FAIL, "info": INFO}


def is_jepsen(path: Path) -> bool:
    """Return whether "auto" takes this for a history of Jepsen, by its suffix alone."""
    return path.suffix in SUFFIXES


def read(path: Path) -> pl.DataFrame:
    """Return the history of a file, or of a directory of Jepsen's store. Raise HistoryError if it
    is not one."""
    rows = pl.concat(_imported(path).pieces(CLIENT))
    untold = [pl.lit(None, dtype).alias(n) for n, dtype in SCHEMA.items() if n not in rows.columns]
    return rows.with_columns(untold).select(SCHEMA.names())


def convert(path: Path, target: Path) -> None:
    """Write the history of a file, or of a directory of Jepsen's store, into `target` as a history
    of ours, in bounded memory. Columns that an import does not fill are left out: `history.scan`
    takes them for null. Raise HistoryError if there is none."""
    pieces = _imported(path).pieces(CLIENT)
    first = next(pieces)
    schema = pa.schema([plain_arrow().field(name) for name in first.columns])
    texts = [name for name in first.columns if SCHEMA[name] == pl.String]
    with pq.ParquetWriter(target, schema, use_dictionary=texts, **_WRITING) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece.to_arrow().cast(schema))


def _imported(path: Path) -> Rows:
    if isdir(path):  # False where Path.is_dir raises, such as for a forbidden path
        found = [path / name for name in FILES_OF_A_RUN if (path / name).is_file()]
        if not found:
            raise HistoryError(
                f"{path}: holds neither {' nor '.join(FILES_OF_A_RUN)}; give the history's file"
            )
        path = found[0]
    made = Import(str(path))
    with without_collection():
        if path.suffix in SUFFIXES[1:] or jsonl.is_json(lines(path)):
            made.add_json(path)
        else:
            made.add_forms(edn.forms(lines(path), made.source))
        return made.rows()


class Import:
    """The state of one import: the columns so far, and the positions of each process."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.reader = Reader(source)
        self.pairing = Pairing()
        self.places = Places()
        self.columns = Collected()
        self.sessions = Sessions()
        self.members: set[int] = set()
        self.nemesis: list[Event] = []
        self.last: Event | None = None
        self.final_ns: int | None = None
        self.recorded: set[int] = set()
        """The places to which records were sent, or from which they were polled."""
        self._split = 0
        """The number of records that count as transactions of their own."""

    def add_forms(self, forms: Iterable[jsonl.Form]) -> None:
        """Convert the next forms of the file and add their rows."""
        for form in forms:
            self.add(self.reader.event(form))

    def add_json(self, path: Path) -> None:
        """Convert a file of JSON lines and add its rows: runs of plain lines at once, and other
        lines one by one. Raise HistoryError for a line that is refused."""
        runs = PlainRuns(self.reader, self.pairing, self.places, self.sessions, self.columns)
        for number, some in blocks(path):
            added = 0
            for start, beyond, keys in runs_in(some):
                self._add_lines(some[added:start], number + added)
                added = start
                if found := runs.add(some[start:beyond], number + start, keys):
                    self.last, places = found
                    self.recorded |= places
                    added = beyond
            self._add_lines(some[added:], number + added)

    def _add_lines(self, some: Sequence[bytes], number: int) -> None:
        numbered = enumerate((line.decode() for line in some), number)
        self.add_forms(jsonl.forms(numbered, self.source))

    def add(self, event: Event) -> None:
        """Convert the next event of the file. The rows of an operation are added when it completes;
        those of faults, and of operations that never complete, are added by `rows`. Raise
        HistoryError if the event does not fit the events before it."""
        self.last = event
        if event.process is None:
            event.require_unique_keys(0)
            self.nemesis.append(event)
        elif (operation := self.pairing.operation(event)) is not None:
            self._add_operation(operation)

    def rows(self) -> Rows:
        """Finish after the last event, and return all rows. Raise HistoryError if there was no
        event or if the rows cannot be a history."""
        if self.last is None:
            raise HistoryError(
                f"{self.source}: holds no event; write one map a line (.jsonl, .edn)"
            )
        for operation in self.pairing.unanswered():
            self._add_operation(operation)
        for event, detail in faults(self.nemesis):
            self._add_fault(event, detail)
        self._add_end(self.last)
        self._require_bounds()
        self._require_unique_values()
        return Rows(self.columns, self.places.named, self.members, self.last.time_ns)

    def _add_operation(self, operation: Operation) -> None:
        f, process = operation.invoked.f, operation.last.process
        assert process is not None
        if says(operation, "final"):
            invoked_ns = operation.invoked.time_ns
            self.final_ns = invoked_ns if self.final_ns is None else min(self.final_ns, invoked_ns)
        if f in WITH_MICRO_OPERATIONS:
            micro = micro_operations(operation, self.places)
            kind = operation.type
            unknown = kind == "info" and self.sessions.is_subscribed(process)
            if unknown and has_untold_polls(operation):
                self._add_unknown_delivery(operation, process)
            self._add_records(operation, process, micro)
            if kind == "info" and polls(operation):
                self.sessions.reset(process)
            return
        if f in WITH_KEYS:
            self._add_assignment(operation, process)
        elif f == CRASH:
            self.sessions.reset(process)
        operation.invoked.require_unique_keys(0)
        operation.last.require_unique_keys(0)

    def _begin(self, operation: Operation, process: int, txn: int = NONE) -> int:
        """Add an operation and return its number."""
        invoked, completed = operation
        last = completed or invoked
        self.columns.operations.add(
            (
                last.number,
                process,
                _TYPES[operation.type],
                says(operation, "final"),
                self.sessions.is_subscribed(process),
                txn,
                invoked.time_ns,
                completed.time_ns if completed else NONE,
                last.line,
            )
        )
        return len(self.columns.operations) - 1

    def _add_records(self, operation: Operation, process: int, micro: list[Send | Poll]) -> None:
        columns, last = self.columns, operation.last
        sent_to = {one[0] for one in micro if len(one) == 3}
        is_split = len(sent_to) > 1 and operation.invoked.f == "send"
        in_transaction = operation.invoked.f == "txn" or (bool(sent_to) and not is_split)
        number = self._begin(operation, process, last.number if in_transaction else NONE)
        transaction, sends = len(columns.transactions), 0
        session = self.sessions.of_operation(process, kept=operation.type == "ok").session
        rebalanced = rebalanced_keys(last, self.places)
        add_batch, add_pairs, add_place = (
            columns.batches.add,
            columns.pairs.extend,
            self.recorded.add,
        )
        records = 0
        try:
            for one in micro:
                if len(one) == 3:
                    own = transaction + sends if is_split else transaction
                    columns.sends.add((number, records, own, *one))
                    add_place(one[0])
                    records, sends = records + 1, sends + 1
                    continue
                place, pairs = one
                add_place(place)
                is_anew = place in rebalanced
                for some in in_pairs(pairs) if is_anew else (pairs,):
                    count = len(some) // 2
                    add_batch((number, records, count, session(place, is_anew), place))
                    add_pairs(some)
                    records += count
        except OverflowError:
            self._refuse_pairs(some, last.line)
        if is_split:
            self._add_split_ends(number, sends, records)
        elif in_transaction:
            columns.transactions.add((number, last.number, records))
        unknown = operation.type == "info" and self.sessions.subscribed(process)
        if not micro and not unknown:  # else `_add_unknown_delivery` has added the rows
            columns.others.add((number, 0, POLL, NONE, 0))

    def _refuse_pairs(self, pairs: Sequence[int], line: int) -> None:
        offsets, values = pairs[::2], pairs[1::2]
        for offset in offsets:
            if not 0 <= offset <= NUMBER_MAX:
                what, number = "an offset must be an integer from 0 up to 2^62", offset
                break
        else:
            what = "a value must be an integer of 64 bits"
            number = max(values, key=abs)
        raise HistoryError(f"{self.source}: line {line}: {what}, not {shown(number)}")

    def _add_split_ends(self, number: int, sends: int, records: int) -> None:
        """Add one transaction end for each record of a plain send to several keys, as if each were
        a transaction of its own. number: the operation; sends: the number of records; records: how
        many rows the operation has before these ends."""
        for taken in range(sends):
            self._split += 1
            self.columns.transactions.add((number, NUMBER_MAX + self._split, records + taken))

    def _add_unknown_delivery(self, operation: Operation, process: int) -> None:
        """Add polls of unknown result, one for each place that the process has subscribed to and
        one without a place. A member may have received records of any key: Jepsen subscribes to the
        topics of its keys, and the history does not say which other keys those topics hold."""
        number = self._begin(operation, process)
        for taken, place in enumerate([*self.sessions.subscribed(process), NONE]):
            self.columns.others.add((number, INT32_MAX - taken, POLL, place, 0))

    def _add_assignment(self, operation: Operation, process: int) -> None:
        invoked, last = operation.invoked, operation.last
        done = None if last.value is None else keys_of(last, self.places)
        asked = None if invoked.value is None else keys_of(invoked, self.places)
        places = asked if done is None else done
        if places is None:
            raise last.refuse(f"the value of '{last.f}' must be a list of keys")
        if asked is not None and set(asked) != set(places):
            raise last.refuse(
                f"{shown(last.value)} completes {shown(invoked.value)} of line {invoked.line}; "
                "a completion must be that of its invocation"
            )
        is_subscription = invoked.f == "subscribe"
        if is_subscription:
            self.members.add(process)
        self.sessions.assign(process, places, subscribed=is_subscription)
        is_sought = says(operation, "seek-to-beginning?")
        if is_sought or operation.type == "fail":
            self.sessions.reset(process)
        number = self._begin(operation, process)
        for index, place in enumerate(places):
            self.columns.others.add((number, index, ASSIGN, place, 0))
        if is_sought and operation.type == "ok" and not is_subscription:
            for index, place in enumerate(places, len(places)):
                session = self.sessions.begin(process, place)
                self.columns.others.add((number, index, POSITION, place, session))

    def _add_fault(self, event: Event, detail: str) -> None:
        at = event.time_ns
        number = len(self.columns.operations)
        self.columns.operations.add((event.number, NEMESIS, INFO, 0, 0, NONE, at, at, event.line))
        self.columns.others.add((number, 0, OF_NEMESIS, NONE, 0))
        self.columns.details[number] = detail

    def _add_end(self, last: Event) -> None:
        """Add the final read of all places with records. It begins with the first event marked as
        final, or after all events if none is marked."""
        end_ns = last.time_ns + 1
        began_ns = end_ns if self.final_ns is None else self.final_ns
        number = len(self.columns.operations)
        self.columns.operations.add(
            (last.number + 1, NEMESIS, OK, 1, 0, NONE, began_ns, end_ns, last.line)
        )
        named = self.places.named
        for index, place in enumerate(sorted(self.recorded, key=lambda place: str(named[place]))):
            self.columns.others.add((number, index, READ_ALL, place, 0))

    def _line_of(self, operation: int) -> int:
        line: int = self.columns.operations.frame()["line"][operation]
        return line

    def _require_bounds(self) -> None:
        """Raise HistoryError for a polled offset or value so large that the judges' arithmetic
        would overflow."""
        pairs = series(self.columns.pairs)
        offsets, values = pairs.gather_every(2), pairs.gather_every(2, offset=1)
        bad = pl.select(
            ((offsets < 0) | (offsets > NUMBER_MAX) | (values < -INT64_MAX)).arg_true()
        ).to_series()
        if len(bad):
            batches = self.columns.batches.frame()
            first = int(bad[0])
            batch = int((batches["count"].cum_sum() <= first).sum())
            line = self._line_of(batches["operation"][batch])
            self._refuse_pairs(pairs[2 * first : 2 * first + 2].to_list(), line)

    def _require_unique_values(self) -> None:
        """Raise HistoryError for a value that is sent to a key twice: a read could not tell the two
        records apart."""
        sends = self.columns.sends.frame().select("place", "value", "operation")
        again = sends.filter(~pl.struct("place", "value").is_first_distinct())
        if again.is_empty():
            return
        place, value, operation = again.row(0)
        first = self._line_of(sends.filter(place=place, value=value)["operation"][0])
        topic, partition = self.places.named[place]
        key = partition if topic == TOPIC else topic
        raise HistoryError(
            f"{self.source}: line {self._line_of(operation)}: value {value} is sent to key {key} "
            f"a second time, first by line {first}; the values of a key must be unique"
        )
