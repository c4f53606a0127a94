"""A cell of a table that has a column for each target, as the page and the Markdown show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linearizability.verdict import Validity

TONES: Mapping[str, str] = {
    Validity.VALID.value: "good",
    Validity.INVALID.value: "bad",
    Validity.UNKNOWN.value: "unknown",
}
"""Verdict -> the class of its cell in the page; any other word has the class NO_TONE."""
NO_TONE = "none"
NOT_MEASURED = "not measured"
UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Cell:
    """The entry of one target: a word or a figure, and more about it."""

    word: str
    more: str = ""
    tone: str = NO_TONE
    link: str | None = None
    """The file that shows more, relative to the page, or None."""

    def text(self) -> str:
        """Return the cell as one line without a link."""
        return f"{self.word}: {self.more}" if self.more else self.word


@dataclass(frozen=True)
class Line:
    """A row of such a table: its title, what the title means, and a cell for each target."""

    title: str
    meaning: str
    cells: tuple[Cell, ...]
