"""The interface that links need: time, timers, randomness, and a place for their effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reference_impl.links.effects import Effect

TimerKey = tuple[str | int, ...]


class Kernel(Protocol):
    """The part of a client's kernel, or of a node's, that links use."""

    @property
    def monotonic_ms(self) -> int:
        """The clock that never jumps, in milliseconds."""

    def emit(self, effect: Effect) -> None:
        """Add an effect, which the host performs after the step."""

    def after(self, delay_ms: int, key: TimerKey, action: Callable[[], None]) -> None:
        """Run the action after a delay, replacing a timer with the same key."""

    def cancel(self, key: TimerKey) -> None:
        """Forget a timer, if there is one."""

    def jittered(self, delay_ms: int) -> int:
        """Return the delay with up to a fifth more or less (KIP-580)."""


class Backoff:
    """An exponential back-off: each failure in a row waits twice as long as the one before, up to a
    maximum, with jitter.

    Source: KIP-580 (retry.backoff.max.ms), ExponentialBackoff.java.
    """

    def __init__(self, kernel: Kernel, first_ms: int, max_ms: int) -> None:
        self._kernel = kernel
        self._first_ms = first_ms
        self._max_ms = max(first_ms, max_ms)
        self.failures = 0

    def succeed(self) -> None:
        """Reset the number of failures."""
        self.failures = 0

    def fail(self) -> int:
        """Count a failure, and return for how many milliseconds to wait before the next attempt."""
        delay_ms = self.delay_ms(self.failures)
        self.failures += 1
        return delay_ms

    def delay_ms(self, failures: int) -> int:
        """Return how many milliseconds, with jitter, to wait after this many earlier failures.
        Count no failure."""
        delay_ms = min(self._first_ms << min(failures, 30), self._max_ms)
        return self._kernel.jittered(delay_ms)
