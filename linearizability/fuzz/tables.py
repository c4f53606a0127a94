"""Parquet files to be refused or judged whole: spoiled by cell, column or row, or damaged."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from linearizability.files.parquet import WRITING
from linearizability.fuzz.texts import cut, double, flip, insert_noise, take_out
from linearizability.history import SCHEMA, arrow_schema
from linearizability.self_test.model.histories import joined, valid_rows

OTHER_TYPES = (pl.Float64(), pl.String(), pl.Binary(), pl.Boolean(), pl.Int8(), pl.UInt64())
"""The types that a column may have in place of its own."""
TURNS = 12
NUMBERS = (-1, 0, 1, 2**15 - 1, 2**31 - 1, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**31))
TEXTS = ("", "x", "ok", "send", "poll", "\0", "{}", "[]", "{", '{"fault": 3}', "é" * 300)


@dataclass(frozen=True)
class File:
    """One Parquet file. what: its damage, for messages. rows: what a reader that accepts it must
    return, or None if the file must be refused."""

    what: str
    content: bytes
    rows: pl.DataFrame | None


def file(rng: Random) -> File:
    """Return a random file: in half of all cases a cell, row or column is spoiled, in the others
    its bytes are damaged in one place."""
    rows = joined([valid_rows(rng.randrange(1_000_000), TURNS)])
    while rows.is_empty():
        rows = joined([valid_rows(rng.randrange(1_000_000), TURNS)])
    if rng.random() < 0.5:
        spoil = rng.choice(SPOILERS)
        return spoil(rows, rng)
    content = bytearray(_bytes(rows))
    damages = (flip, flip, flip, cut, take_out, double, insert_noise)
    damage = rng.choice(damages)
    damage(content, rng)
    return File(damage.__name__, bytes(content), rows)


def _bytes(rows: pl.DataFrame) -> bytes:
    table = rows.to_arrow()
    if rows.columns == list(SCHEMA) and rows.schema == SCHEMA:
        table = table.cast(arrow_schema())
    made = io.BytesIO()
    pq.write_table(table, made, row_group_size=64, **WRITING)
    return made.getvalue()


def _cells(rows: pl.DataFrame, rng: Random) -> File:
    """Return a file in which one or two cells, or whole columns, hold another value, which may be
    malformed or null."""
    for _ in range(rng.choice((1, 2))):
        name = rng.choice(rows.columns)
        dtype = rows.schema[name]
        here = pl.int_range(pl.len()) == rng.randrange(rows.height)
        if rng.random() < 0.2:
            here = pl.lit(True)
        some: Any = None
        if rng.random() < 0.8:
            some = rng.choice(TEXTS if dtype == pl.String else NUMBERS)
        if dtype == pl.Boolean and some is not None:
            some = bool(some)
        nasty = pl.lit(some).cast(dtype, strict=False)
        rows = rows.with_columns(pl.when(here).then(nasty).otherwise(name).alias(name))
    return File("cells", _bytes(rows), rows)


def _rows(rows: pl.DataFrame, rng: Random) -> File:
    """Return a file with some rows dropped or doubled, or with all rows shuffled or reversed."""
    numbers = list(range(rows.height))
    start = rng.randrange(rows.height)
    match rng.randrange(4):
        case 0:
            del numbers[start : start + rng.choice((1, 3, rows.height))]
        case 1:
            numbers[start:start] = numbers[start : start + rng.choice((1, 3, rows.height))]
        case 2:
            rng.shuffle(numbers)
        case _:
            numbers.reverse()
    made = rows[numbers]
    return File("rows", _bytes(made), made)


def _columns(rows: pl.DataFrame, rng: Random) -> File:
    """Return a file in which a column is dropped, renamed, or has another type."""
    name = rng.choice(rows.columns)
    match rng.randrange(4):
        case 0:
            made = rows.drop(name)
            whole = made.with_columns(pl.lit(None, SCHEMA[name]).alias(name)).select(rows.columns)
            return File(f"without {name}", _bytes(made), whole)
        case 1:
            made = rows.rename({name: rng.choice((name + "s", name.upper(), "x"))})
            return File(f"{name} named otherwise", _bytes(made), None)
        case 2:
            other = rng.choice(OTHER_TYPES)
            made = retyped(rows, name, other)
            try:
                whole = made.with_columns(pl.col(name).cast(SCHEMA[name]))
            except pl.exceptions.PolarsError:
                return File(f"{name} as {other}", _bytes(made), None)
            return File(f"{name} as {other}", _bytes(made), whole)
        case _:
            made = rows.with_columns(pl.concat_list(name).alias(name))
            return File(f"{name} as lists", _bytes(made), None)


def retyped(rows: pl.DataFrame, name: str, other: pl.DataType) -> pl.DataFrame:
    """Return the rows with a column cast to another type, with null where a value has no
    counterpart, and everywhere if polars knows no cast between the two types (text to Boolean)."""
    try:
        return rows.with_columns(pl.col(name).cast(other, strict=False))
    except pl.exceptions.InvalidOperationError:
        return rows.with_columns(pl.lit(None, other).alias(name))


SPOILERS: tuple[Callable[[pl.DataFrame, Random], File], ...] = (_cells, _rows, _columns)
