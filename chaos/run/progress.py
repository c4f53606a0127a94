"""The progress line: rewritten in place on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from chaos.record.counts import Counts

TERMINAL_EVERY_S = 0.5
PLAIN_EVERY_S = 5.0


class Progress:
    """The progress of a run on standard error, or nothing if the progress is switched off."""

    def __init__(self, wanted: bool, stream: TextIO | None = None) -> None:
        self._wanted = wanted
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._said_at = 0.0
        self._width = 0

    def phase(self, sentence: str) -> None:
        """Print a line that is not overwritten."""
        if self._wanted:
            self._end_line()
            print(sentence, file=self._stream, flush=True)

    def update(self, line: str) -> None:
        """Show the current state. Calls in quick succession are dropped."""
        every = TERMINAL_EVERY_S if self._terminal else PLAIN_EVERY_S
        if not self._wanted or time.monotonic() - self._said_at < every:
            return
        self._said_at = time.monotonic()
        if self._terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._stream.flush()
            self._width = len(line)
        else:
            print(line, file=self._stream, flush=True)

    def _end_line(self) -> None:
        if self._terminal and self._width:
            self._stream.write("\n")
            self._width = 0


def attack_line(counts: Counts, fault: str, elapsed_s: float, seconds: float) -> str:
    """Return the line about an attack of this many seconds: its outcomes so far, and the fault in
    progress."""
    outcomes = "  ".join(f"{outcome} {n}" for outcome, n in counts.by_outcome.items())
    return (
        f"{elapsed_s:5.1f} of {seconds:g} s  {outcomes}"
        f"  acknowledged {counts.records_acknowledged}  read {counts.records_read}"
        f"  fault: {fault}"
    )
