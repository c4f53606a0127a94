"""The threads of one run, by name: each begun guarded, all waited for within a bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from chaos.run.workers import Shared


class Threads:
    """Those that were begun and have not been seen to end."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._running: list[threading.Thread] = []

    def start(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        """Start a thread; if it fails, that is a problem of the run."""

        def guarded() -> None:
            try:
                work(*arguments)
            except Exception as error:
                # A thread that dies silently would look like a calm cluster.
                self._shared.problem(f"{name} ended early: {type(error).__name__}: {error}")

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        self._running.append(thread)
        thread.start()

    def join_last(self, timeout_s: float) -> bool:
        """Wait for the thread that was started last, forget it, and return whether it has ended."""
        thread = self._running.pop()
        thread.join(timeout_s)
        return not thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Wait for all threads; note those that do not end."""
        deadline = time.monotonic() + timeout_s
        for thread in self._running:
            if thread.ident is not None:  # Ctrl-C may fall between its making and its start
                thread.join(max(0.0, deadline - time.monotonic()))
        for thread in self._running:
            if thread.is_alive():
                self._shared.note(f"{thread.name} did not end; its last operation is unknown")
        self._running = [thread for thread in self._running if thread.is_alive()]
