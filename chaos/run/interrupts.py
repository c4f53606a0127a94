"""Ctrl-C and SIGTERM: the run ends at once, and its cleanup is not interrupted again."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A context in which SIGINT and SIGTERM raise KeyboardInterrupt in the main thread. Once
    shielded, they only print that the cleanup is in progress. Entered in another thread, it changes
    nothing. Its end restores the former handlers."""

    def __init__(self, at_first: Callable[[], None] | None = None) -> None:
        """Prepare the context. at_first: called at the first signal, after which further signals
        only print. Without it, each signal raises until `shield` is called."""
        self._at_first = at_first
        self._shielded = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # Signals reach the main thread only; elsewhere (tests, servers) the caller takes care.
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def shield(self) -> None:
        """Ignore further signals, so that the cleanup is not interrupted. Each of its steps has a
        time limit."""
        self._shielded = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._shielded:
            if self._at_first is not None:
                self.shield()
                self._at_first()
            raise KeyboardInterrupt
        print("chaos: stopping everything that was started; please wait", file=sys.stderr)
