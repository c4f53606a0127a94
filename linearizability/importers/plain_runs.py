"""Add runs of plain lines (`plain_lines`) to an import, all operations of a run at once, with the
same result as one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linearizability.files.sound_rows import YEAR_NS
from linearizability.importers.columns import NONE, OK, POLL, Collected
from linearizability.importers.events import Event, Pairing, Reader
from linearizability.importers.micro import NO_OFFSET, Places
from linearizability.importers.plain_lines import (
    TXN,
    Flags,
    Numbers,
    Operations,
    Tokens,
    are_plain,
    keys_of,
    operations,
    tokens,
)
from linearizability.importers.sessions import Sessions

LINES_MIN = 256
"""The least number of plain lines that are worth the cost of a run."""

Keys = tuple[str, ...]


def runs_in(lines: Sequence[bytes]) -> Iterator[tuple[int, int, Keys]]:
    """Yield (start, beyond, keys) of each run of at least LINES_MIN plain lines: the numbers of its
    first line and of the line after it, and the order of the keys in its lines, which is that of
    the middle line of all. Yield nothing if that line is not plain."""
    keys = keys_of(lines[len(lines) // 2])
    if keys is None or len(lines) < LINES_MIN:
        return
    is_plain = np.concatenate(([False], are_plain(lines, keys), [False]))
    edges = np.flatnonzero(is_plain[1:] != is_plain[:-1]).tolist()
    for start, beyond in zip(edges[::2], edges[1::2], strict=True):
        if beyond - start >= LINES_MIN:
            yield start, beyond, keys


@dataclass(frozen=True)
class _Run:
    """A run of plain lines, read. lines: open invocations of earlier lines, then the lines of the
    run. number, time_ns: the number of each line in the file, and the time that it counts for.
    earlier: how many lines are not of the run."""

    lines: Sequence[bytes]
    number: Numbers
    time_ns: Numbers
    earlier: int
    found: Tokens
    made: Operations


class PlainRuns:
    """Adds runs of plain lines to an import: it holds the import's parts and changes them."""

    def __init__(
        self,
        reader: Reader,
        pairing: Pairing,
        places: Places,
        sessions: Sessions,
        columns: Collected,
    ) -> None:
        self.reader = reader
        self.pairing = pairing
        self.places = places
        self.sessions = sessions
        self.columns = columns

    def add(self, lines: Sequence[bytes], number: int, keys: Keys) -> tuple[Event, set[int]] | None:
        """Add the operations of plain lines that are the next of the file. Return the last event,
        and the places of their records. If the lines are not all as they should be, change nothing
        and return None: they must be added one by one. number: the line of the first."""
        first = self.reader.first
        if first is not None and not {"index", "time"} <= set(first):
            return None
        run = self._run(lines, number, keys)
        if run is None:
            return None
        last = self._event(run, len(run.lines) - 1)
        first_ns = int(run.time_ns[run.earlier])
        self.reader.skip(first_ns, last, len(lines), int(run.found.time[-1]))
        pending, process = self.pairing.pending(), run.found.process
        for line in run.made.asked[run.made.asked < run.earlier].tolist():
            del pending[int(process[line])]
        for line in run.made.unfinished[run.made.unfinished >= run.earlier].tolist():
            pending[int(process[line])] = self._event(run, line)
        return last, self._add(run, last)

    def _run(self, lines: Sequence[bytes], number: int, keys: Keys) -> _Run | None:
        events = list(self.pairing.pending().values())
        texts = [(event.text or "").encode("utf-8", "replace") for event in events]
        is_plain = are_plain(texts, keys)
        # The completion of an invocation that is not plain is not in a run, unless it is refused.
        earlier = [
            (e, text) for e, text, plain in zip(events, texts, is_plain, strict=True) if plain
        ]
        whole = [*(text for _, text in earlier), *lines]
        found = tokens(whole, keys)
        # A process whose invocation is not plain must complete it before it does anything else.
        busy = [p for p, plain in zip(self.pairing.pending(), is_plain, strict=True) if not plain]
        if np.isin(found.process[len(earlier) :], busy).any():
            return None
        if (times := self._times(found, len(earlier))) is None:
            return None
        if (made := operations(found)) is None:
            return None
        numbers = [*(e.line for e, _ in earlier), *range(number, number + len(lines))]
        time_ns = np.append(np.array([e.time_ns for e, _ in earlier], dtype=np.int64), times)
        return _Run(whole, np.array(numbers), time_ns, len(earlier), found, made)

    def _times(self, found: Tokens, earlier: int) -> Numbers | None:
        """Return the time of each line after the first `earlier` ones, raised where necessary so
        that each is at least 1 ns after the one before. Return None if an index does not grow, a
        time goes back, or the last line is a year or more after the first event."""
        index, time, reader = found.index[earlier:], found.time[earlier:], self.reader
        if index[0] <= reader.index or (np.diff(index) <= 0).any():
            return None
        if time[0] < reader.raw_time or (np.diff(time) < 0).any():
            return None
        step = np.arange(len(time))
        taken = np.maximum.accumulate(np.maximum(time - step, reader.time_ns + 1)) + step
        first_ns = int(taken[0]) if reader.first_ns is None else reader.first_ns
        return None if taken[-1] - first_ns >= YEAR_NS else taken

    def _event(self, run: _Run, line: int) -> Event:
        raw = json.loads(run.lines[line])
        number, time_ns = int(run.number[line]), int(run.time_ns[line])
        about = raw["index"], time_ns, raw["process"], raw["type"], raw["f"], raw["value"]
        return Event(self.reader.source, number, *about, raw, run.lines[line].decode())

    def _add(self, run: _Run, last: Event) -> set[int]:
        """Add the rows of all operations. Return the places of their records."""
        found, made, columns = run.found, run.made, self.columns
        count, f = len(made.done), found.f[made.done]
        operation = np.arange(count) + len(columns.operations)
        process, index = found.process[made.done], found.index[made.done]
        subscribed = [p for p in np.unique(process).tolist() if self.sessions.is_subscribed(p)]
        is_member = np.isin(process, subscribed)
        sends = made.operation[made.is_send]
        is_txn = (f == TXN) | (np.bincount(sends, minlength=count) > 0)
        columns.operations.extend(
            index,
            process,
            OK,
            0,
            is_member.astype(np.int64),
            np.where(is_txn, index, NONE),
            run.time_ns[made.asked],
            run.time_ns[made.done],
            run.number[made.done],
        )
        transaction = np.cumsum(is_txn) - 1 + len(columns.transactions)
        columns.transactions.extend(operation[is_txn], index[is_txn], made.records[is_txn])
        place = self._places(run, last)
        self._add_sends(run, operation[sends], transaction[sends], place[made.is_send])
        self._add_polls(run, operation, process, is_member, place)
        columns.others.extend(operation[made.records == 0], 0, POLL, NONE, 0)
        return set(np.unique(place).tolist())

    def _places(self, run: _Run, last: Event) -> Numbers:
        """Return the place of each item. Places that are new to the import are numbered in the
        order of their appearance."""
        keys, first, place = np.unique(
            run.found.value[run.made.items], return_index=True, return_inverse=True
        )
        numbers = np.zeros(len(keys), dtype=np.int64)
        for key in np.argsort(first).tolist():
            numbers[key] = self.places.number(int(keys[key]), last)
        return numbers[place]

    def _add_sends(
        self, run: _Run, operation: Numbers, transaction: Numbers, place: Numbers
    ) -> None:
        made, found = run.made, run.found
        key = made.items[made.is_send]
        # A send is its key, its offset if it is known, and its value.
        beyond = found.micro_token[np.searchsorted(found.micro_token, key, side="right")]
        offset = np.where(beyond - key > 2, found.value[key + 1], NO_OFFSET)
        first = made.first[made.is_send]
        self.columns.sends.extend(
            operation, first, transaction, place, found.value[beyond - 1], offset
        )

    def _add_polls(
        self, run: _Run, operation: Numbers, process: Numbers, is_member: Flags, place: Numbers
    ) -> None:
        made, is_poll = run.made, ~run.made.is_send
        of, place = made.operation[is_poll], place[is_poll]
        session = self._sessions(of, process[of], is_member[of], place)
        first, count = made.first[is_poll], made.count[is_poll]
        self.columns.batches.extend(operation[of], first, count, session, place)
        self.columns.pairs.frombytes(made.pairs.tobytes())

    def _sessions(
        self, operation: Numbers, process: Numbers, is_member: Flags, place: Numbers
    ) -> Numbers:
        """Return the session of each answer. An unsubscribed process stays in its session, and a
        subscribed one begins another in each operation. Note the new sessions of unsubscribed
        processes."""
        reader = np.where(is_member, -1 - operation, process)
        by = (reader - reader.min(initial=0)) * (place.max(initial=0) + 1) + place
        _, first, which = np.unique(by, return_index=True, return_inverse=True)
        number = np.zeros(len(first), dtype=np.int64)
        keeps = np.flatnonzero(~is_member[first])
        held = [self.sessions.held(int(p)) for p in process[first[keeps]]]
        places = place[first[keeps]].tolist()
        number[keeps] = [some.get(at, 0) for some, at in zip(held, places, strict=True)]
        begun = np.flatnonzero(number == 0)
        begun = begun[np.argsort(first[begun])]
        number[begun] = self.sessions.next_numbers(len(begun)) + np.arange(len(begun))
        for some, at, session in zip(held, places, number[keeps].tolist(), strict=True):
            some[at] = session
        return number[which]
