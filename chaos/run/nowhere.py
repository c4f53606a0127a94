"""Explain why no record of a run was acknowledged: the most frequent errors and log lines of its
clients, the warnings that its brokers logged, and the answer to a Produce that is sent without
them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.record.counts import Counts
from chaos.record.frequent_lines import FrequentLines

NOTHING = "no record was acknowledged, so the run shows nothing"
ERRORS_MAX, LINES_MAX = 3, 3
LINE_MAX = 200
"""The most characters of a message to show; some contain a whole record."""
LOG_BYTES_MAX = 4 << 20
"""The bytes that are read from the end of a node's log."""
_GRAVE = re.compile(r"\b(?:WARN|WARNING|ERROR|FATAL|PANIC|panicked)\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TIME = re.compile(r"^\W*\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\W*")
_SETTINGS = (".properties", ".toml", ".json", ".conf")
"""The endings of the names of files beside a node's logs that are not logs."""

Logged = Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Nowhere:
    """The facts that explain a run without an acknowledged record."""

    counts: Counts
    clients: Logged
    """Messages of the clients' own log, each with the number of its occurrences."""
    brokers: Logged
    """Warnings and errors in the brokers' logs, each with the number of its occurrences."""
    answer: str | None
    """A sentence about the answer to a raw Produce at the end, or None if the run ended before."""

    def why(self) -> str:
        """Explain in one paragraph why the run has no acknowledged record."""
        parts = [self._of(name, error, number) for (name, error), number in self._worst()]
        parts = [f"The clients' errors: {'; '.join(parts)}"] if parts else []
        for whose, logged in (("clients", self.clients), ("brokers", self.brokers)):
            if lines := [f"{_short(line)} ({number:,} times)" for line, number in logged]:
                parts.append(f"The {whose} logged: {'; '.join(lines)}")
        if self.answer is not None:
            parts.append(self.answer)
        return ". ".join([NOTHING, *parts])

    def facts(self) -> dict[str, Any]:
        """Return the facts that `why` tells as JSON values for run.json."""
        return {
            "errors": [
                {
                    "operation": name,
                    "error": error,
                    "times": number,
                    "detail": self.counts.details.get((name, error)),
                }
                for (name, error), number in self._worst()
            ],
            "log": _rows(self.clients),
            "brokers_log": _rows(self.brokers),
            "raw_produce": self.answer,
        }

    def _worst(self) -> list[tuple[tuple[str, str], int]]:
        """Return ((operation, error), number) of the ERRORS_MAX most frequent errors, those of
        polls last, since they explain nothing when nothing was written."""
        errors = self.counts.errors.items()
        return sorted(errors, key=lambda item: (item[0][0] == "Poll", -item[1]))[:ERRORS_MAX]

    def _of(self, name: str, error: str, number: int) -> str:
        detail = self.counts.details.get((name, error))
        told = f" ({_short(detail)})" if detail and detail != error else ""
        return f"{name} {error} {number:,} times of {self.counts.by_operation[name]:,}{told}"


def grave_lines(nodes: Path) -> list[tuple[str, int]]:
    """Return the LINES_MAX most frequent warnings and errors in the ends of the logs that a run has
    collected from its nodes, without their times, each with the number of its occurrences."""
    lines = FrequentLines()
    for file in sorted(nodes.glob("*/*")):
        if file.is_file() and file.suffix not in _SETTINGS:
            for line in _end_of(file).splitlines():
                plain = _COLOUR.sub("", line)
                if _GRAVE.search(plain):
                    lines.add(_TIME.sub("", plain))
    return lines.most_frequent(LINES_MAX)


def _end_of(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(-min(LOG_BYTES_MAX, stream.seek(0, os.SEEK_END)), os.SEEK_END)
        return stream.read().decode(errors="replace")


def _rows(logged: Logged) -> list[dict[str, Any]]:
    return [{"line": _short(line), "times": number} for line, number in logged]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]}…"
