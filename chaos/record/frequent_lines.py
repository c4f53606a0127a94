"""Count lines of a log. Lines that differ only in numbers count as the same."""

from __future__ import annotations

import re
from collections import Counter

LINES_MAX = 100
"""The most different lines to keep; later ones are ignored."""
_NUMBER = re.compile(r"\d+")


class FrequentLines:
    """The different lines of a log, each with the number of its occurrences."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, line: str) -> None:
        """Count one line, unless LINES_MAX other lines are kept already and it is new."""
        shape = _NUMBER.sub("0", line)
        if shape in self._first or len(self._first) < LINES_MAX:
            self._first.setdefault(shape, line)
            self._counts[shape] += 1

    def most_frequent(self, number: int) -> list[tuple[str, int]]:
        """Return the `number` most frequent lines, the most frequent first, each as it read when it
        first occurred, with the number of its occurrences."""
        return [(self._first[shape], times) for shape, times in self._counts.most_common(number)]
