"""Keep a large partition that cannot be cut on the disk of its executor while it is judged.

In memory, each row would take the space of its forty columns, and the same again for each copy. A
rule reads only a dozen columns, and only some kinds of rows. So the rows are written to Parquet
files once, chunk by chunk, and each rule is given a lazy frame over them: polars reads only the
columns and rows that the rule uses, and keeps nothing afterwards. Facts that depend on all rows
(their order, and how the transaction of each record ended) are computed from a few columns, and
written beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from linearizability import ingest
from linearizability.engine.exchange import CHUNK_ROWS, Chunks, remainder
from linearizability.history import PARTITION
from linearizability.plans import collect

SLICE_ROWS = 2_000_000
"""About how many rows to compute outcomes for at once."""
ORDER = ("op_id", "record_index")
_ARRIVAL, _FILE = "arrival", "file"


@contextmanager
def on_disk(chunks: Chunks, outcomes: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """Provide the resolved events of whole partitions, in their order, inside the `with` block;
    they are read from temporary files, which are removed at its end.

    outcomes: those of the transactions, in the form that `ingest.with_transaction_outcomes` takes.
    """
    with TemporaryDirectory(prefix="touchstone-partition-") as name:
        ordered, resolved = (Path(name) / part for part in ("ordered", "resolved"))
        ordered.mkdir()
        resolved.mkdir()
        placed = _placed(chunks)
        rows = placed.height
        _write(chunks, placed, collect(outcomes), ordered)
        del placed
        _resolve(ordered, rows, resolved)
        yield pl.scan_parquet(resolved / "*.parquet")


def _placed(chunks: Chunks) -> pl.DataFrame:
    """Return, for each row in order of arrival, its `place` (the partition's number) and the number
    of the file to which it belongs by the order of all rows."""
    narrow = pl.concat([_categorical(rows) for rows in chunks.each((*PARTITION, *ORDER))])
    number = (pl.int_range(pl.len()) // CHUNK_ROWS).cast(pl.Int32)
    placed = ingest.with_places(narrow.with_row_index(_ARRIVAL))
    return placed.select(_ARRIVAL, ingest.PLACE, number.alias(_FILE)).sort(_ARRIVAL).drop(_ARRIVAL)


def _write(chunks: Chunks, placed: pl.DataFrame, outcomes: pl.DataFrame, folder: Path) -> None:
    """Write one file into `folder` for every CHUNK_ROWS rows of the partitions in their order, with
    the transactions' outcomes, as soon as all its rows have arrived. (Recorded rows are nearly in
    order.) placed: what `_placed` returns for these chunks."""
    missing = dict(placed[_FILE].value_counts().iter_rows())
    waiting: dict[int, list[pl.DataFrame]] = defaultdict(list)
    start = 0
    for rows in chunks.each():
        numbered = _categorical(rows).hstack(placed.slice(start, rows.height))
        start += rows.height
        for part in numbered.partition_by(_FILE, maintain_order=True):
            number = part[_FILE][0]
            waiting[number].append(part.drop(_FILE))
            missing[number] -= part.height
            if not missing[number]:
                events = ingest.in_order(pl.concat(waiting.pop(number)))
                known = ingest.with_transaction_outcomes(events, outcomes.lazy())
                known.write_parquet(folder / f"{number:06}.parquet", compression="lz4")


def _resolve(ordered: Path, rows: int, resolved: Path) -> None:
    """Write each file of `ordered` to `resolved` with the column `outcome` (`ingest`, step 3), and
    remove the former. Work on some values at a time: rows of different values do not affect each
    other, since markers were found before. rows: how many rows all files have."""
    events = pl.scan_parquet(ordered / "*.parquet", row_index_name="row")
    markers = collect(ingest.markers_of_records(events)).lazy()
    slices = 1 + rows // SLICE_ROWS
    found = []
    for number in range(slices):
        of_values = events.filter(remainder("value", slices) == number)
        outcome = pl.col("outcome").cast(pl.Categorical)
        found.append(collect(ingest.record_outcomes(of_values, markers).with_columns(outcome)))
    known = pl.concat(found).sort("row")
    del found
    start = 0
    for file in sorted(ordered.iterdir()):
        part = pl.read_parquet(file).with_row_index("row", start)
        begin = known["row"].search_sorted(start, side="left")
        end = known["row"].search_sorted(start + part.height, side="left")
        with_outcomes = part.join(known[begin:end], on="row", how="left", maintain_order="left")
        outcome = pl.col("outcome").cast(pl.String)
        with_outcomes.drop("row").with_columns(outcome).write_parquet(
            resolved / file.name, compression="lz4"
        )
        start += part.height
        del part
        file.unlink()


def _categorical(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with columns of few distinct texts as categories, as `ingest.with_places`
    makes them. They take a quarter of the memory."""
    texts = [column for column in ingest.CATEGORIES if column in rows.columns]
    return rows.with_columns(pl.col(texts).cast(pl.Categorical))
