"""Measure an amount per second over a sliding window, by default about the last ten seconds.

Source: Rate.java, SampledStat.java, WindowedSum.java; ClientQuotaManagerConfig (11 samples of one
second). Time is cut into samples. The mean is taken over the ten full samples that are kept and the
current one. It is always divided by at least that time, even if there are fewer samples, so a new
client, or one that was silent for long, may send ten seconds' worth at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class Sample:
    """The amount measured since `start_ms`, during the length of one sample; the last of it at
    `last_ms`."""

    start_ms: int
    last_ms: int
    amount: float = 0.0


class Rate:
    """A sum over a sliding window, and the time that it covers."""

    def __init__(self, samples: int, sample_ms: int) -> None:
        self._count = samples
        self._sample_ms = sample_ms
        self._samples: deque[Sample] = deque()

    def record(self, amount: float, now_ms: int) -> None:
        """Add an amount at this moment to the newest sample; a negative amount takes some back."""
        newest = self._samples[-1] if self._samples else None
        if newest is None or not 0 <= now_ms - newest.start_ms < self._sample_ms:
            newest = Sample(now_ms, now_ms)
            self._samples.append(newest)
        newest.amount += amount
        newest.last_ms = now_ms

    def measure(self, now_ms: int) -> tuple[float, float]:
        """Return the amount per second, and the number of seconds over which it was measured."""
        self._forget_old(now_ms)
        oldest_ms = self._samples[0].start_ms if self._samples else now_ms
        seconds = max(1, self._window_ms(max(0, now_ms - oldest_ms))) / 1000
        return sum(sample.amount for sample in self._samples) / seconds, seconds

    def _window_ms(self, elapsed_ms: int) -> int:
        """Return the length of the time over which the mean is taken: the time since the oldest
        sample began (elapsed_ms), and whole samples until there are as many as the window has, less
        one."""
        missing = max(0, self._count - 1 - elapsed_ms // self._sample_ms)
        return elapsed_ms + missing * self._sample_ms

    def _forget_old(self, now_ms: int) -> None:
        """Drop the oldest samples while they lie wholly outside the window, or after `now_ms`
        because the clock has gone back."""
        window_ms = self._count * self._sample_ms
        while self._samples and not 0 <= now_ms - self._samples[0].last_ms < window_ms:
            self._samples.popleft()


class SimpleRate(Rate):
    """A rate over the time since the oldest sample, but at least one sample's length: after a
    silence there is no credit for more than one sample (SimpleRate.java)."""

    def _window_ms(self, elapsed_ms: int) -> int:
        return max(elapsed_ms, self._sample_ms)
