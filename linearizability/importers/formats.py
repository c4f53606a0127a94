"""Detect the format of a history, and provide any of them as a file that the engines read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from linearizability import parquet
from linearizability.history import HistoryError
from linearizability.importers import jepsen

FORMATS = ("auto", "touchstone", "jepsen")


def chosen_format(path: Path, history_format: str) -> str:
    """Return what "auto" means here: "jepsen" by the suffix of a file, else "touchstone"."""
    if history_format not in FORMATS:
        raise HistoryError(f"format {history_format!r} is not one of {', '.join(FORMATS)}")
    if history_format != "auto":
        return history_format
    return "jepsen" if jepsen.is_jepsen(path) else "touchstone"


@contextmanager
def imported(path: Path, history_format: str = "auto") -> Iterator[Path]:
    """Provide the path of a history of ours: `path` itself, or a temporary file made from it."""
    if chosen_format(path, history_format) == "touchstone":
        yield path
        return
    with TemporaryDirectory(prefix="touchstone-") as directory:
        file = Path(directory) / "history.parquet"
        jepsen.convert(path, file)
        parquet.trust_pages(file)
        yield file
