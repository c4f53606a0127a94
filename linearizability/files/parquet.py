"""Read a Parquet file completely before it is judged, so that a damaged page leads to an error and
not to a verdict.

Files that Touchstone writes have checksums in their pages. A process does not check a file again
until the file changes.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from linearizability.errors import HistoryError

WRITING: Mapping[str, Any] = {"compression": "zstd", "write_page_checksum": True}
"""The options with which histories are written."""
REMEMBERED = 16
TAIL_BYTES = 64 * 1024
"""The number of bytes at the end of a file that are compared, since two versions written within one
tick of the clock differ there."""
BATCH_ROWS = 64 * 1024

Identity = tuple[int, ...]
_read_through: OrderedDict[Identity, None] = OrderedDict()
_sound: OrderedDict[Identity, tuple[str, ...]] = OrderedDict()


def _identity(file: Path) -> Identity:
    about = os.stat(file)
    with file.open("rb") as opened:
        opened.seek(-min(TAIL_BYTES, about.st_size), os.SEEK_END)
        tail = zlib.crc32(opened.read())
    return tail, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def empty_columns(file: Path) -> tuple[str, ...] | None:
    """Return the columns that are null in every row, or None if the rows of the file in its present
    state have not been checked by this process."""
    return _sound.get(_identity(file))


def remember_rows(file: Path, empty: tuple[str, ...]) -> None:
    """Note that the rows of the file in its present state were checked and are valid; the last
    REMEMBERED files are remembered. empty: the columns that are null in every row."""
    _remember(_sound, file, empty)


def trust_pages(file: Path) -> None:
    """Note that this process has just written the file: its pages need not be read."""
    _remember(_read_through, file, None)


Known = TypeVar("Known")


def _remember(those: OrderedDict[Identity, Known], file: Path, known: Known) -> None:
    those[_identity(file)] = known
    while len(those) > REMEMBERED:
        those.popitem(last=False)


def rows_in(file: Path) -> int:
    """Return the row count in the file's footer, without reading its pages. Raise HistoryError if
    the file is no complete Parquet file."""
    with _opened(file) as opened:
        rows: int = opened.metadata.num_rows
    return rows


def verified(file: Path) -> tuple[pa.Schema, int]:
    """Return the columns and the number of rows, after reading all pages of the file, unless this
    process has read or written it in its present state. Raise HistoryError for a file that is
    incomplete or damaged."""
    with _opened(file) as opened:
        schema, count = opened.schema_arrow, opened.metadata.num_rows
        if _identity(file) not in _read_through:
            _require_rows(file, opened, count)
            trust_pages(file)
        return schema, count


@contextmanager
def _opened(file: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            yield opened
    except HistoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        if file.suffix != ".parquet" and not _begins_as_parquet(file):
            raise HistoryError(
                f"{file}: no format that touchstone knows; give a run directory, a .parquet, .edn"
                " or .jsonl file, or add an importer (docs/plugins.md)"
            ) from error
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise HistoryError(
            f"{file}: not a complete Parquet file ({why:.200}); "
            "if the run was killed while it recorded, run it again"
        ) from error


def _begins_as_parquet(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(4) == b"PAR1"
    except OSError:
        return False


def _require_rows(file: Path, opened: pq.ParquetFile, count: int) -> None:
    found = sum(batch.num_rows for batch in opened.iter_batches(batch_size=BATCH_ROWS))
    if found != count:
        raise HistoryError(
            f"{file}: damaged: holds {found} rows, but says that it has {count}; "
            "copy it again from where it was written, or run again"
        )
