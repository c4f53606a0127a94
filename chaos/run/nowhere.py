"""Explain why no record of a run was acknowledged: the most frequent errors and log lines of its
clients, and the answer to a Produce that is sent without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaos.record.counts import Counts

NOTHING = "no record was acknowledged: the run shows nothing"
ERRORS_MAX, LINES_MAX = 3, 3
LINE_MAX = 200
"""The most characters of a message to show; some contain a whole record."""

Logged = Sequence[tuple[str, int]]


def why(counts: Counts, logged: Logged, answer: str | None) -> str:
    """Explain in one paragraph why a run has no acknowledged record.

    logged: messages of the clients' own log, each with the number of its occurrences. answer: the
    answer to a raw Produce at the end, or None if no broker could be asked.
    """
    parts = [_of(name, error, number, counts) for (name, error), number in _worst(counts)]
    parts = [f"The clients' errors: {'; '.join(parts)}"] if parts else []
    if lines := [f"{_short(line)} ({number:,} times)" for line, number in logged[:LINES_MAX]]:
        parts.append(f"The clients logged: {'; '.join(lines)}")
    if answer is not None:
        parts.append(answer)
    return ". ".join([NOTHING, *parts])


def facts(counts: Counts, logged: Logged, answer: str | None) -> dict[str, Any]:
    """Return the same facts for run.json."""
    return {
        "errors": [
            {
                "operation": name,
                "error": error,
                "times": number,
                "detail": counts.details.get((name, error)),
            }
            for (name, error), number in _worst(counts)
        ],
        "log": [{"line": _short(line), "times": number} for line, number in logged[:LINES_MAX]],
        "raw_produce": answer,
    }


def _worst(counts: Counts) -> list[tuple[tuple[str, str], int]]:
    """Return the most frequent errors, those of writes first, since errors of polls explain nothing
    when nothing was written."""
    ordered = sorted(counts.errors.items(), key=lambda item: (item[0][0] == "Poll", -item[1]))
    return ordered[:ERRORS_MAX]


def _of(name: str, error: str, number: int, counts: Counts) -> str:
    detail = counts.details.get((name, error))
    told = f" ({_short(detail)})" if detail and detail != error else ""
    return f"{name} {error} {number:,} times of {counts.by_operation[name]:,}{told}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]}…"
