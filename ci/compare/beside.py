"""Set the messages of a failed case beside those that another target exchanged in the same case,
and mark what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ci.compare.decoding import fields, shown
from ci.compare.variables import without_variables

Entry = Mapping[str, Any]
Messages = Sequence[Mapping[str, Any]]
SAME, ALIKE = 2, 1
"""Scores of two matching requests: all fields are the same, or only the API is."""


@dataclass(frozen=True)
class Side:
    """One message of a pair. Each field and each run of bytes says whether the other side
    differs."""

    title: str
    fields: tuple[tuple[str, str, bool], ...]
    """(path, value, whether it differs)"""
    hex: tuple[tuple[str, bool], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the message as JSON values."""
        return {
            "title": self.title,
            "fields": {path: value for path, value, _ in self.fields},
            "differs": [path for path, _, differs in self.fields if differs],
            "hex": "".join(part for part, _ in self.hex),
        }


@dataclass(frozen=True)
class Pair:
    """A message of the failed case, and the other target's message at the same step, if any."""

    is_response: bool
    own: Side
    other: Side | None


@dataclass(frozen=True)
class Beside:
    """The messages of a failed case beside those of another target."""

    target: str
    result: str | None
    """The result of the other target in this case, or None if it has none."""
    note: str | None
    """The reason why there are no messages of the other target, or None if there are."""
    pairs: tuple[Pair, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "target": self.target,
            "result": self.result,
            "note": self.note,
            "messages": [
                {"own": pair.own.as_dict(), "other": pair.other and pair.other.as_dict()}
                for pair in self.pairs
            ],
        }

    def differing(self) -> tuple[str, str] | None:
        """Return the fields that differ in the last pair of responses, as text: those of the failed
        case, and those of the other target. Return None if no response is paired with one of the
        other target."""
        pairs = [(pair.own, pair.other) for pair in self.pairs if pair.is_response and pair.other]
        if not pairs:
            return None
        own, other = pairs[-1]
        return _marked_only(own), _marked_only(other)


def beside(entry: Entry, others: Sequence[tuple[str, Sequence[Entry]]]) -> Beside | None:
    """Return a failed case beside the same case of another target: the first that passed it with
    messages, else the first that passed it, else the first that has messages of it, else the first
    of all. others: (name, its cases) of the other targets. Return None if there are no others."""
    found = [(name, _same(entry, entries)) for name, entries in others]
    if not found:
        return None
    name, other = min(found, key=lambda each: _rank(each[1]))
    messages: Messages = other.get("exchange", ()) if other else ()
    pairs = tuple(_pairs(entry.get("exchange", ()), messages))
    return Beside(name, other["result"] if other else None, _note(other, messages, pairs), pairs)


def _same(entry: Entry, entries: Sequence[Entry]) -> Entry | None:
    """Return the entry of the same run of the case; else of the same version, else of any version.
    Return None if the case was not run there."""
    alike = [e for e in entries if (e["id"], e["name"]) == (entry["id"], entry["name"])]
    return min(
        alike,
        key=lambda e: (e.get("nodeid") != entry.get("nodeid"), e["version"] != entry["version"]),
        default=None,
    )


def _rank(entry: Entry | None) -> tuple[bool, bool]:
    has_messages = entry is not None and bool(entry.get("exchange"))
    return entry is None or entry["result"] != "passed", not has_messages


def _note(entry: Entry | None, messages: Messages, pairs: Sequence[Pair]) -> str | None:
    if entry is None:
        return "the case was not run there"
    if not messages:
        return f"no messages of this case were recorded there; it {_ended(entry)}"
    if not any(pair.other for pair in pairs):
        return f"it exchanged other messages; the case {_ended(entry)}"
    return None


def _ended(entry: Entry) -> str:
    return "was unsupported" if entry["result"] == "unsupported" else str(entry["result"])


# --- steps ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Message:
    title: str
    hex: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class _Step:
    """A request and its response; either may be missing from the record."""

    api: str | None
    request: _Message | None
    response: _Message | None


def _steps(messages: Messages) -> list[_Step]:
    steps: list[_Step] = []
    for told, message in zip(messages, shown(messages), strict=True):
        read = _Message(message.title, message.hex, dict(fields(message.body)))
        if told["direction"] == "request":
            steps.append(_Step(told.get("api"), read, None))
        elif steps and steps[-1].response is None:
            steps[-1] = _Step(steps[-1].api, steps[-1].request, read)
        else:
            steps.append(_Step(None, None, read))
    return steps


def _pairs(own: Messages, other: Messages) -> Iterator[Pair]:
    ours, theirs = _steps(own), _steps(other)
    matched = _matched(ours, theirs)
    for place, step in enumerate(ours):
        mate = theirs[matched[place]] if place in matched else _Step(None, None, None)
        for is_response, a, b in (
            (False, step.request, mate.request),
            (True, step.response, mate.response),
        ):
            if a is not None:
                yield Pair(is_response, _side(a, b), _side(b, a) if b else None)


def _matched(ours: Sequence[_Step], theirs: Sequence[_Step]) -> dict[int, int]:
    """Return the place of each of our steps that has a counterpart -> that one's place: the
    assignment in order that matches best. Of equally good ones take that with the last of our
    steps and the first of theirs, as ours end at the failure, and theirs go on."""
    best = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            with_both = best[i][j] + _likeness(a, b)
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], with_both)
    found: dict[int, int] = {}
    i, j = len(ours), len(theirs)
    while i and j:
        if best[i][j] == best[i][j - 1]:
            j -= 1
        elif best[i][j] == best[i - 1][j - 1] + _likeness(ours[i - 1], theirs[j - 1]):
            i, j = i - 1, j - 1
            found[i] = j
        else:
            i -= 1
    return found


def _likeness(a: _Step, b: _Step) -> int:
    if a.request is None or b.request is None or a.api != b.api:
        return 0
    return SAME if _masked(a.request) == _masked(b.request) else ALIKE


def _masked(message: _Message) -> Mapping[str, str]:
    return {path: without_variables(value) for path, value in message.fields.items()}


# --- marks ----------------------------------------------------------------------------------------


def _side(message: _Message, other: _Message | None) -> Side:
    """Return a message in which the fields and bytes that differ from the other message are marked.
    Without another message nothing is marked."""
    theirs = _masked(other) if other is not None else _masked(message)
    told = tuple(
        (path, value, theirs.get(path) != without_variables(value))
        for path, value in message.fields.items()
    )
    return Side(message.title, told, tuple(_runs(message.hex, other.hex if other else message.hex)))


def _runs(own: str, other: str) -> Iterator[tuple[str, bool]]:
    """Yield runs of bytes in hex, and whether they differ: byte by byte where both are equally
    long, or else all between the first and the last byte that differ."""
    ours, theirs = ([text[n : n + 2] for n in range(0, len(text), 2)] for text in (own, other))
    if len(ours) == len(theirs):
        marks = [a != b for a, b in zip(ours, theirs, strict=True)]
    else:
        start = _common(ours, theirs)
        end = min(_common(ours[::-1], theirs[::-1]), min(len(ours), len(theirs)) - start)
        marks = [start <= place < len(ours) - end for place in range(len(ours))]
    for differs, run in groupby(zip(ours, marks, strict=True), key=lambda each: each[1]):
        yield "".join(byte for byte, _ in run), differs


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many bytes are the same at the start of both."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        count += 1
    return count


def _marked_only(side: Side) -> str:
    return ", ".join(f"{path}={value}" for path, value, differs in side.fields if differs)
