"""An importer, which converts a history in a CSV file to Touchstone's format."""

import csv
from pathlib import Path

from touchstone.kit import HistoryError, history

COLUMNS = ("f", "process", "topic", "partition", "offset", "value")
NUMBERS = ("process", "partition", "offset", "value")


class Csv:
    """A CSV format with one line for each record that was sent with acks=all, polled, or read at
    the end."""

    def recognises(self, path: Path) -> bool:
        """Return whether the file's name says that this is such a file."""
        return path.suffix == ".csv"

    def convert(self, path: Path, target: Path) -> None:
        """Write the history. Raise HistoryError, with one sentence, for a file that is not a
        history."""
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise HistoryError(f"{path}: the first line must be {','.join(COLUMNS)}")
            rows = [self._row(path, reader.line_num, line) for line in reader]
        history.write(target, history.frame(rows))

    def _row(self, path: Path, number: int, line: dict[str, str]) -> dict[str, object]:
        try:
            numbers = {name: int(line[name]) for name in NUMBERS if line[name]}
        except (TypeError, ValueError):
            raise HistoryError(f"{path}: line {number}: write whole numbers") from None
        row = {"f": line["f"], "topic": line["topic"], **numbers}
        if row["f"] == "send":
            row |= {"acks": -1}
        if row["f"] == "read_all":
            row |= {"final": True, "log_start": 0, "high_watermark": numbers["offset"]}
            del row["offset"]
        return row
