"""Detect the format of a history, and convert any format to a file that the engines read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from linearizability.files import parquet
from linearizability.history import HistoryError
from linearizability.importers import jepsen

AUTO, OURS = "auto", "touchstone"


class Importer(Protocol):
    """An importer of another tool's format: it recognises and converts its histories."""

    def recognises(self, path: Path) -> bool:
        """Return whether "auto" takes the file for a history in this format."""
        ...

    def convert(self, path: Path, target: Path) -> None:
        """Write the history in the file `path` to `target` as a Parquet file of ours. Raise
        HistoryError if it is no such history."""
        ...


class Jepsen:
    """The importer of Jepsen's Kafka histories."""

    def recognises(self, path: Path) -> bool:
        return jepsen.is_jepsen(path)

    def convert(self, path: Path, target: Path) -> None:
        jepsen.convert(path, target)


IMPORTERS: dict[str, Importer] = {"jepsen": Jepsen()}


def chosen_format(path: Path, history_format: str) -> str:
    """Return the format of the history. For "auto" that is the first importer that recognises the
    path, such as "jepsen" by a file's suffix, else "touchstone". Raise HistoryError for an unknown
    format."""
    if history_format not in (known := (AUTO, OURS, *IMPORTERS)):
        raise HistoryError(f"format {history_format!r} is not one of {', '.join(known)}")
    if history_format != AUTO:
        return history_format
    return next((name for name, each in IMPORTERS.items() if each.recognises(path)), OURS)


@contextmanager
def imported(path: Path, history_format: str = "auto") -> Iterator[Path]:
    """Provide the path of a history in our format inside the `with` block: `path` itself, or a
    temporary file converted from it. Raise HistoryError for an unknown format, and for a file that
    its importer refuses."""
    if (chosen := chosen_format(path, history_format)) == OURS:
        yield path
        return
    with TemporaryDirectory(prefix="touchstone-") as directory:
        file = Path(directory) / "history.parquet"
        IMPORTERS[chosen].convert(path, file)
        parquet.trust_pages(file)
        yield file
