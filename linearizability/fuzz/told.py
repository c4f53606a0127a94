"""Collect every send and every polled record from the events of a Jepsen file, wherever they stand
in a value, without interpreting the events otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl


@dataclass
class Told:
    """The sends and polls in a file. sent: (key, value) of each send that was invoked. polled:
    (key, offset, value) of each record in a completed poll. acknowledged: the same of each
    completed send."""

    sent: Counter[tuple[str, int]] = field(default_factory=Counter)
    polled: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    acknowledged: Counter[tuple[str, int, int]] = field(default_factory=Counter)


def told_by(events: Iterable[Any]) -> Told:
    """Return the sends and polls in these Jepsen events. Raise TypeError, ValueError or
    AttributeError for events that are damaged."""
    told = Told()
    for event in events:
        is_invocation = event.get("type") == "invoke"
        for micro in _micro_operations(event.get("value")):
            if micro[0] == "send" and len(micro) == 3:
                offset, value = micro[2] if isinstance(micro[2], list) else (None, micro[2])
                if is_invocation:
                    told.sent[str(micro[1]), value] += 1
                elif offset is not None:
                    told.acknowledged[str(micro[1]), offset, value] += 1
            elif micro[0] == "poll" and len(micro) > 1 and not is_invocation:
                for key, records in (micro[1] or {}).items():
                    for offset, value in records:
                        told.polled[str(key), offset, value] += 1
    return told


def _micro_operations(value: Any) -> Iterator[list[Any]]:
    """Yield every value that looks like a micro-operation (send or poll), at any depth."""
    waiting = [value]
    while waiting:
        some = waiting.pop()
        if isinstance(some, list):
            if some and some[0] in ("send", "poll"):
                yield some
            else:
                waiting += some
        elif isinstance(some, dict):
            waiting += some.values()


def told_by_rows(rows: pl.DataFrame) -> Told:
    """Return the sends and polls in the rows of a history in our own format."""
    told = Told()
    records = rows.filter(pl.col("value").is_not_null())
    key = pl.when(pl.col("topic") == "jepsen").then(pl.col("partition").cast(pl.String))
    named = records.select("f", key.otherwise("topic").alias("key"), "offset", "value")
    for f, place, offset, value in named.iter_rows():
        if f == "poll":
            told.polled[place, offset, value] += 1
        else:
            told.sent[place, value] += 1
            if offset is not None:
                told.acknowledged[place, offset, value] += 1
    return told
