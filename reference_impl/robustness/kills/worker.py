"""Run a client in its own thread, which continues when the broker dies and restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random
from typing import TypeVar

from reference_impl.robustness.kills.station import Broken, Gone, Link, Station
from reference_impl.robustness.process import PATIENCE_S
from reference_impl.wire import ErrorCode

T = TypeVar("T")
RETRIABLE = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)
"""Errors after which a real client repeats the request: markers are still being written, or a
coordinator is loading. (The last error stands for the others in older versions of Produce.)"""
PAUSE_S = 0.005


class Worker:
    """A client that works until it is told to end, and then completes its last operation."""

    def __init__(self, station: Station, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.link = Link(station, random.choice)
        self.failure: str | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def work(self) -> None:
        """Work until `is_ending`. Raise Broken for a broken promise."""
        raise NotImplementedError

    @property
    def done(self) -> int:
        """Return how many operations the broker has acknowledged so far."""
        raise NotImplementedError

    def verify(self, link: Link) -> int:
        """Compare what the broker stores with what it acknowledged. Return how much was compared.
        Raise Broken if they differ."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def work_until(self, done: int) -> None:
        """Wait until the broker has acknowledged that many operations. Raise Broken if that takes
        far too long, or for a broken promise."""
        deadline = time.monotonic() + PATIENCE_S
        while self.done < done:
            self.check()
            if time.monotonic() > deadline:
                raise Broken(f"{self.name}: only {self.done} operations within {PATIENCE_S} s")
            time.sleep(PAUSE_S)

    def end(self) -> None:
        """Tell the thread to complete its last operation, wait for its end while the broker is
        alive, and close the connection. Note a failure, which `check` raises, if it does not end in
        time."""
        self._ending.set()
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self.failure = self.failure or f"does not finish within {PATIENCE_S} s"
        self.link.close()

    def check(self) -> None:
        """Raise Broken if the worker has found a broken promise."""
        if self.failure is not None:
            raise Broken(f"{self.name}: {self.failure}")

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    def pause(self) -> None:
        """Sleep briefly, so that other threads can run."""
        self._ending.wait(PAUSE_S)

    def persist(self, question: Callable[[], T]) -> T:
        """Repeat a request until there is a response, from this broker or the restarted one."""
        while True:
            try:
                return question()
            except Gone:
                self.link.reconnect()

    def until_done(self, question: Callable[[], int]) -> None:
        """Repeat a request until its error code is NONE. Raise Broken for a code that must not be
        retried, or if that takes far too long."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            code = ErrorCode(self.persist(question))
            if code is ErrorCode.NONE:
                return
            if code not in RETRIABLE or time.monotonic() > deadline:
                raise Broken(
                    f"a request was refused with {code.name}, which may not be retried or has"
                    f" lasted for {PATIENCE_S} s"
                )
            time.sleep(PAUSE_S)

    def _run(self) -> None:
        try:
            self.work()
        except (Broken, AssertionError) as error:
            self.failure = f"{type(error).__name__}: {error}"
