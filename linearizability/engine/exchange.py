"""Move rows through Spark as chunks, each a piece of a table in Arrow's own format.

Spark's JVM would convert every row twice per shuffle, which costs ten times as much as the kernels.
So the executors read the Parquet file themselves, and Spark shuffles only a few large values:
(bucket, kind, position, data), where `data` is many rows. Rows that belong together share a bucket;
`kind` names their table.

Executors import this file, so it does not use pyspark.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from linearizability import ingest
from linearizability.evidence.lost_polls import COLUMNS_READ as LOST_POLLS_READ
from linearizability.evidence.lost_polls import (
    LOST,
    SESSIONS,
    LostPolls,
    lost_in,
    put_together,
    sessions_in,
)
from linearizability.evidence.owners import OWNERS, owners_in
from linearizability.evidence.time_outs import COLUMNS_READ as TIME_OUTS_READ
from linearizability.evidence.time_outs import TOLD as TIME_OUTS
from linearizability.evidence.time_outs import longest_of, time_outs_in
from linearizability.history import PARTITION, SCHEMA
from linearizability.reads.pauses import LOST as LOST_ANYWHERE
from linearizability.reads.pauses import LOST_READ, lost_anywhere

CHUNK_SQL = "bucket int, kind string, position bigint, data binary"
CHUNK_ARROW = pa.schema(
    [("bucket", pa.int32()), ("kind", pa.string()), ("position", pa.int64()), ("data", pa.binary())]
)
CHUNK_ROWS = 100_000
"""The rows in one chunk. Spark limits the size of values (2 GiB for all values of one Arrow
batch)."""
ROWS_PER_TASK = 500_000
PIECE_ROWS = 1_000_000
"""The rows in one piece of a row group. Most row groups are smaller and are not split."""
LARGE_PARTITION_ROWS = 1_000_000
"""The number of rows above which a partition counts as large: it would take more than half a GiB of
an executor's memory."""

Chunk = tuple[int, str, int, bytes]
"""(bucket, kind, position, data)."""


@dataclass(frozen=True)
class Chunks:
    """All rows of one kind in one bucket, still packed, in order of position."""

    data: Sequence[pa.BinaryScalar]
    schema: pl.Schema
    """The schema to use if there are no chunks."""

    def __bool__(self) -> bool:
        return bool(self.data)

    def each(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows chunk by chunk, with all columns or with these."""
        for part in self.data:
            stream = io.BytesIO(part.as_py())
            yield pl.read_ipc_stream(stream, columns=list(columns) if columns else None)

    def all(self) -> pl.DataFrame:
        """Return all rows at once."""
        return pl.concat(self.each()) if self else pl.DataFrame(schema=self.schema)


class Tables(Mapping[str, pl.DataFrame]):
    """The tables of one bucket: kind -> all its rows. A table is unpacked on each access and not
    kept, since a bucket with pieces of a large partition holds several times the rows that one rule
    reads."""

    def __init__(self, chunks: Mapping[str, Chunks]) -> None:
        self._chunks = chunks

    def __getitem__(self, kind: str) -> pl.DataFrame:
        return self._chunks[kind].all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._chunks)

    def __len__(self) -> int:
        return len(self._chunks)

    def chunks(self, kind: str) -> Chunks:
        """Return the packed rows of one kind."""
        return self._chunks[kind]


def packed(frame: pl.DataFrame, kind: str, bucket: int = 0, position: int = 0) -> Iterator[Chunk]:
    """Yield a table as chunks of one bucket, of CHUNK_ROWS rows at most, and nothing for an empty
    table. position: the number of the table's first row, by which a reader puts chunks in order."""
    for start in range(0, frame.height, CHUNK_ROWS):
        data = io.BytesIO()
        frame.slice(start, CHUNK_ROWS).write_ipc_stream(data, compression="lz4")
        yield bucket, kind, position + start, data.getvalue()


def scattered(frame: pl.DataFrame, kind: str, position: int = 0) -> Iterator[Chunk]:
    """Yield a table as chunks for the buckets in its column `bucket`. Rows with a null bucket are
    left out. position: the number of the table's first row, the same for all buckets."""
    placed = frame.filter(pl.col("bucket").is_not_null())
    parts = placed.partition_by("bucket", as_dict=True, include_key=False, maintain_order=True)
    for (number,), part in parts.items():
        yield from packed(part, kind, int(number), position)


def unpacked(table: pa.Table, schemas: Mapping[str, pl.Schema]) -> Tables:
    """Return the tables of these kinds, their rows in order of position: empty for a kind without
    chunks. Chunks of other kinds are left out."""
    found: dict[str, list[tuple[int, int]]] = {kind: [] for kind in schemas}
    columns = (table.column(name).to_pylist() for name in ("kind", "position"))
    for row, (kind, position) in enumerate(zip(*columns, strict=True)):
        if kind in found:
            found[kind].append((position, row))
    data = table.column("data")
    return Tables(
        {
            kind: Chunks([data[row] for _, row in sorted(found[kind])], schema)
            for kind, schema in schemas.items()
        }
    )


def as_arrow(chunks: Iterable[Chunk]) -> pa.Table:
    """Return the chunks as an Arrow table for Spark."""
    columns = list(zip(*chunks, strict=True)) or [(), (), (), ()]
    arrays = [pa.array(c, t) for c, t in zip(columns, CHUNK_ARROW.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=CHUNK_ARROW)


def remainder(column: str, buckets: int) -> pl.Expr:
    """Return the bucket, from 0 to buckets - 1, of a number column, or 0 for null. It is the same
    on every machine, which a hash need not be."""
    return ((pl.col(column) % buckets + buckets) % buckets).fill_null(0).cast(pl.Int32)


@dataclass(frozen=True)
class Source:
    """The history's file, and its runs: ranges of rows that consist of whole row groups, each as
    (first row, number of rows)."""

    file: Path
    runs: tuple[tuple[int, int], ...]

    @staticmethod
    def of(file: Path) -> Source:
        found = pq.read_metadata(file)
        runs: list[tuple[int, int]] = []
        for group in range(found.num_row_groups):
            rows = found.row_group(group).num_rows
            if runs and runs[-1][1] < ROWS_PER_TASK:
                first, held = runs.pop()
                runs.append((first, held + rows))
            else:
                runs.append((sum(runs[-1]) if runs else 0, rows))
        return Source(file, tuple(runs))

    def lazy(self, columns: Sequence[str]) -> pl.LazyFrame:
        """Return these columns of the whole file, without checking it again. A column that the file
        lacks is null."""
        whole = pl.scan_parquet(self.file)
        present = set(whole.collect_schema())
        return whole.select(
            (pl.col(c) if c in present else pl.lit(None)).cast(SCHEMA[c]).alias(c) for c in columns
        )

    def rows(self, run: int, columns: Sequence[str]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield (first row, rows) of one run, piece by piece; a column that an older history lacks
        is null. (Read by polars: pyarrow takes four times as long.)"""
        first, count = self.runs[run]
        wanted = self.lazy(columns)
        for position in range(first, first + count, PIECE_ROWS):
            rows = min(PIECE_ROWS, first + count - position)
            yield position, wanted.slice(position, rows).collect()


@dataclass(frozen=True)
class Whereabouts:
    """The facts about a whole history that are needed to cut it. They are the same for every
    piece."""

    topic_ids: pl.DataFrame
    lost_polls: LostPolls
    lost_anywhere: pl.DataFrame
    """The polls of unknown result that name no partition (`pauses`)."""
    longest_ns: int | None
    """The longest time in nanoseconds that a transaction may last (`time_outs`)."""
    buckets: pl.DataFrame
    """A frame with the columns PARTITION, bucket, is_large."""
    count: int
    """The number of buckets for partitions, which are numbered from 0; other buckets are numbered
    from here."""
    has_large: bool
    """Whether a partition has more than LARGE_PARTITION_ROWS, so that it is cut (`cuts.py`)."""
    began_ns: int
    ended_ns: int

    def with_buckets(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with their topic ids, and with the `bucket` and `is_large` of their
        partition, which are null in rows without one."""
        named = ingest.with_topic_ids(rows.lazy(), self.topic_ids)
        return named.join(
            self.buckets.lazy(), on=PARTITION, how="left", maintain_order="left"
        ).collect()


SURVEY: Mapping[str, pl.Schema] = {
    "partitions": pl.Schema(
        {
            "topic": pl.String,
            "topic_id": pl.String,
            "partition": pl.Int32,
            "rows": pl.Int64,
            "controls": pl.Int64,
        }
    ),
    "lost": LOST,
    "owners": OWNERS,
    "sessions": SESSIONS,
    "lost_anywhere": LOST_ANYWHERE,
    "times": pl.Schema({"began": pl.Int64, "ended": pl.Int64}),
    "time_outs": TIME_OUTS,
}
SURVEYED = tuple(
    dict.fromkeys([*PARTITION, "control", *LOST_POLLS_READ, *LOST_READ, *TIME_OUTS_READ])
)


def surveyed(rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield the tables from which `whereabouts` is computed, as far as a piece of the history shows
    them: partitions, lost polls (also those that name no partition), owners of partitions,
    sessions, time-outs, and when the piece began and ended."""
    partitions = (
        rows.filter(pl.col("topic").is_not_null())
        .group_by(PARTITION)
        .agg(rows=pl.len().cast(pl.Int64), controls=pl.col("control").count().cast(pl.Int64))
    )
    yield from packed(partitions, "partitions")
    yield from packed(lost_in(rows.lazy()), "lost")
    yield from packed(owners_in(rows.lazy()), "owners")
    yield from packed(sessions_in(rows.lazy()), "sessions")
    yield from packed(lost_anywhere(rows.lazy()), "lost_anywhere")
    yield from packed(time_outs_in(rows.lazy()), "time_outs")
    ended = pl.max_horizontal("t_invoke_ns", "t_complete_ns").max()
    yield from packed(rows.select(began=pl.col("t_invoke_ns").min(), ended=ended), "times")


def whereabouts(survey: Tables, count: int) -> Whereabouts:
    """Return the facts that cutting the history needs. Assign partitions to `count` buckets, the
    largest first, each to the bucket with the fewest rows so far."""
    partitions = survey["partitions"]
    known = ingest.topic_ids(partitions.lazy())
    sizes = (
        ingest.with_topic_ids(partitions.lazy(), known)
        .group_by(PARTITION)
        .agg(pl.col("rows").sum())
        .sort("rows", *PARTITION, descending=[True, False, False, False])
        .collect()
    )
    held = [0] * count
    numbers = []
    for rows in sizes["rows"]:
        bucket = held.index(min(held))
        held[bucket] += rows
        numbers.append(bucket)
    is_large = pl.col("rows") > LARGE_PARTITION_ROWS
    buckets = sizes.select(
        *PARTITION, is_large.alias("is_large"), bucket=pl.Series(numbers, dtype=pl.Int32)
    )
    lost = put_together(survey["lost"], survey["sessions"], survey["owners"])
    began, ended = survey["times"].select(pl.col("began").min(), pl.col("ended").max()).row(0)
    return Whereabouts(
        known,
        lost,
        survey["lost_anywhere"].unique(),
        longest_of(survey["time_outs"]),
        buckets,
        count,
        bool(buckets["is_large"].any()),
        began or 0,
        ended or 0,
    )


def on_runs(
    source: Source, columns: Sequence[str], work: Callable[[int, pl.DataFrame], Iterable[Chunk]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that applies the work to each piece of each run of rows,
    with the position of the piece's first row. The function's input is the runs' numbers."""

    def on_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for run in batch.column(0).to_pylist():
                for position, rows in source.rows(run, columns):
                    yield from as_arrow(work(position, rows)).to_batches()

    return on_numbers


def on_batches(
    schemas: Mapping[str, pl.Schema], work: Callable[[Tables], Iterable[Chunk]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that applies the work to each record batch by itself. The
    work must not need the chunks of two batches together."""

    def on_some(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from as_arrow(work(unpacked(table, schemas))).to_batches()

    return on_some


def on_chunks(
    schemas: Mapping[str, pl.Schema], work: Callable[[Tables], Iterable[Chunk]]
) -> Callable[[pa.Table], pa.Table]:
    """Return a function for `applyInArrow` that applies the work to all chunks of one bucket."""

    def on_bucket(table: pa.Table) -> pa.Table:
        return as_arrow(work(unpacked(table, schemas)))

    return on_bucket
