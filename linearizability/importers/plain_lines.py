"""Read JSON lines as Jepsen's Kafka workload writes most of them, a block of text at a time.

A plain line is an invocation, or an ok completion, of sends and polls whose keys and values are
numbers from zero up. A pattern recognises it without parsing; then each number's meaning follows
from the characters around it, so that a block becomes columns without a Python object per line.
All other lines are left to the JSON reader, which refuses or explains them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TXN, SEND = ord("t"), ord("s")
"""The first letters of `f` in `Tokens`."""
_NUMBERS = ("index", "time", "process")
_INTEGER = "(?:0|[1-9][0-9]{0,17})"
_RECORD = rf"\[{_INTEGER}, ?{_INTEGER}\]"
_RECORDS = rf'"{_INTEGER}": ?\[{_RECORD}(?:, ?{_RECORD})*\]'
_ASKED = rf'\["(?:send", ?{_INTEGER}, ?{_INTEGER}|poll")\]'
_DONE = (
    rf'\["(?:send", ?{_INTEGER}, ?(?:{_INTEGER}|{_RECORD})|'
    rf'poll", ?\{{(?:{_RECORDS}(?:, ?{_RECORDS})*)?\}})\]'
)
_FIELDS = {
    "index": _INTEGER,
    "time": _INTEGER,
    "process": "(?:0|[1-9][0-9]{0,8})",
    "f": '"(?:txn|send|poll)"',
}


def keys_of(line: bytes) -> tuple[str, ...] | None:
    """Return the keys of a JSON line in their order, or None if they are not exactly those of a
    plain line."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    wanted = {*_FIELDS, "type", "value"}
    return tuple(event) if type(event) is dict and set(event) == wanted else None


def are_plain(lines: Sequence[bytes], keys: tuple[str, ...]) -> Flags:
    """Return for each line whether it is plain. keys: the order of its keys (`keys_of`)."""
    text = b"".join(lines)
    if not text.isascii():
        return np.zeros(len(lines), dtype=np.bool_)
    ends = np.zeros(len(lines) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=ends[1:])
    texts = pa.LargeStringArray.from_buffers(len(lines), pa.py_buffer(ends), pa.py_buffer(text))
    return pl.Series(pl.from_arrow(texts)).str.contains(_pattern(keys)).to_numpy()


@cache
def _pattern(keys: tuple[str, ...]) -> str:
    def line(kind: str, micro: str) -> str:
        fields = _FIELDS | {"type": f'"{kind}"', "value": rf"\[(?:{micro}(?:, ?{micro})*)?\]"}
        return ", ?".join(f'"{key}": ?{fields[key]}' for key in keys)

    return rf"^\{{(?:{line('invoke', _ASKED)}|{line('ok', _DONE)})\}}\n$"


@dataclass(frozen=True)
class Tokens:
    """The content of plain lines.

    index, time, process, f (the first letter of `f`), is_invoke: the fields of each line.
    line_micro: the number of the first micro-operation of each line, and after all of them.
    is_send: whether each micro-operation is a send. micro_token: the number of the first token of
    each micro-operation, and after all of them. value: the number that each token is. is_key:
    whether it is the key of a poll's answer.
    """

    index: Numbers
    time: Numbers
    process: Numbers
    f: npt.NDArray[np.uint8]
    is_invoke: Flags
    line_micro: Numbers
    is_send: Flags
    micro_token: Numbers
    value: Numbers
    is_key: Flags


def tokens(lines: Sequence[bytes], keys: tuple[str, ...]) -> Tokens:
    """Return the content of lines that are all plain. keys: the order of their keys."""
    text = np.frombuffer(b"".join(lines).replace(b" ", b""), dtype=np.uint8)
    is_digit = (text - np.uint8(ord("0"))) < 10
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    numbers = _integers(text[is_digit], ends - starts)
    before = text[starts - 1]
    is_field = before == ord(":")
    fields = numbers[is_field].reshape(-1, len(_NUMBERS))
    column = {key: fields[:, n] for n, key in enumerate(k for k in keys if k in _NUMBERS)}
    # In a plain line an 'f' stands only in its key "f", a 'y' only in "type", and '["' begins a
    # micro-operation.
    letters = text[np.flatnonzero(text == ord("f")) + len('f":"')]
    is_invoke = text[np.flatnonzero(text == ord("y")) + len('ype":"')] == ord("i")
    micros = np.flatnonzero((text[:-1] == ord("[")) & (text[1:] == ord('"')))
    line_ends = np.flatnonzero(text == ord("\n"))
    within = starts[~is_field]
    return Tokens(
        **column,
        f=letters,
        is_invoke=is_invoke,
        line_micro=np.append(0, np.searchsorted(micros, line_ends)),
        is_send=text[micros + len('["')] == ord("s"),
        micro_token=np.append(np.searchsorted(within, micros), len(within)),
        value=numbers[~is_field],
        is_key=before[~is_field] == ord('"'),
    )


def _integers(digits: npt.NDArray[np.uint8], lengths: Numbers) -> Numbers:
    """Return the numbers in a text that is nothing but their digits. lengths: how many digits each
    number has."""
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    texts = pa.LargeStringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(digits))
    return pl.Series(pl.from_arrow(texts)).cast(pl.Int64).to_numpy()


@dataclass(frozen=True)
class Operations:
    """Operations whose lines are all plain, in the order of their completions.

    asked, done: the lines of each one's invocation and completion. unfinished: the lines of
    invocations that none of the lines completes. items: tokens that begin what an operation sent or
    received, in order: each is the key of a record sent, or a key of a poll's answer. operation,
    is_send, first, count: of each item its operation, whether it was sent, the number of its first
    record within the operation, and how many it has. records: how many records each operation has.
    pairs: offset and value of each record that was polled.
    """

    asked: Numbers
    done: Numbers
    unfinished: Numbers
    items: Numbers
    operation: Numbers
    is_send: Flags
    first: Numbers
    count: Numbers
    records: Numbers
    pairs: Numbers


def operations(found: Tokens) -> Operations | None:
    """Return the operations of plain lines, or None if they must be read one by one: a process does
    not invoke and complete in turn, a completion reports something else than it was asked for, an
    answer has a key twice, or a plain send goes to several keys."""
    paired = _paired(found)
    if paired is None or not _is_answered(found, *paired[:2]):
        return None
    asked, done, unfinished = paired
    # Items: only completions have keys of answers. Weights: how many records each one has.
    line_token = found.micro_token[found.line_micro]
    micros = np.repeat(np.arange(len(found.is_send)), np.diff(found.micro_token))
    keys = np.flatnonzero(found.is_key)
    beyond = np.minimum(np.append(keys[1:], len(found.value)), found.micro_token[micros[keys] + 1])
    weights = np.zeros(len(found.value) + 1, dtype=np.int64)
    weights[keys] = (beyond - keys - 1) // 2
    of_done = _ranges(found.line_micro[done], found.line_micro[done + 1])
    weights[found.micro_token[of_done[found.is_send[of_done]]]] = 1
    items = np.flatnonzero(weights)
    before = np.cumsum(weights) - weights
    start = before[line_token[done]]
    operation = np.searchsorted(line_token[done], items, side="right") - 1
    is_send = found.is_send[micros[items]]
    if not _has_own_keys(found, items, micros[items], operation, done):
        return None
    return Operations(
        asked,
        done,
        unfinished,
        items,
        operation,
        is_send,
        before[items] - start[operation],
        weights[items],
        before[line_token[done + 1]] - start,
        found.value[~found.is_key & ~found.is_send[micros]],
    )


def _has_own_keys(
    found: Tokens, items: Numbers, micro: Numbers, operation: Numbers, done: Numbers
) -> bool:
    """Return whether no answer has a key twice, and no plain send goes to several keys: it would be
    several transactions."""
    key, follows = found.value[items], micro[1:] == micro[:-1]
    if (follows & (key[1:] <= key[:-1])).any():  # else the keys of each answer grow
        order = np.lexsort((key, micro))
        if ((micro[order][1:] == micro[order][:-1]) & (key[order][1:] == key[order][:-1])).any():
            return False
    is_sent = found.is_send[micro] & (found.f[done] == SEND)[operation]
    of, key = operation[is_sent], key[is_sent]
    return not ((of[1:] == of[:-1]) & (key[1:] != key[:-1])).any()


def _paired(found: Tokens) -> tuple[Numbers, Numbers, Numbers] | None:
    """Return the lines of completed invocations and, in the same order, of their completions; and
    the lines of invocations without one. Return None if a process does not invoke and complete in
    turn, invocation first."""
    order = np.argsort(found.process, kind="stable")
    process, invokes = found.process[order], found.is_invoke[order]
    is_first = np.append(True, process[1:] != process[:-1])
    if not np.where(is_first, invokes, np.append(True, invokes[1:] != invokes[:-1])).all():
        return None
    completions = np.flatnonzero(~invokes)
    done, asked = order[completions], order[completions - 1]
    in_turn = np.argsort(done)
    is_last = np.append(is_first[1:], True)
    return asked[in_turn], done[in_turn], np.sort(order[invokes & is_last])


def _is_answered(found: Tokens, asked: Numbers, done: Numbers) -> bool:
    """Return whether each completion has the `f` and the micro-operations of its invocation."""
    micro, token = found.line_micro, found.micro_token
    same = (found.f[asked] == found.f[done]).all()
    if not (same and (np.diff(micro)[asked] == np.diff(micro)[done]).all()):
        return False
    ones = _ranges(micro[asked], micro[asked + 1])
    others = _ranges(micro[done], micro[done + 1])
    if not (found.is_send[ones] == found.is_send[others]).all():
        return False
    ones, others = ones[found.is_send[ones]], others[found.is_send[others]]
    value = found.value
    keys = value[token[ones]] == value[token[others]]
    values = value[token[ones + 1] - 1] == value[token[others + 1] - 1]
    return bool(keys.all() and values.all())


def _ranges(starts: Numbers, beyond: Numbers) -> Numbers:
    """Return the whole numbers of all these ranges, concatenated. beyond: the first number after
    each range."""
    lengths = beyond - starts
    before = np.cumsum(lengths) - lengths
    numbers: Numbers = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return numbers
