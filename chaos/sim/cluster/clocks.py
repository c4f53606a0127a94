"""The wall clock of a simulated node, which can jump, and run too fast or too slow."""

from __future__ import annotations

from collections.abc import Callable


class WallClock:
    """A node's wall clock, which shows the true time except while a fault of clocks lasts."""

    def __init__(self, true_us: Callable[[], int]) -> None:
        self._true_us = true_us
        self._offset_us = self._ppm = self._since_us = 0

    def now_us(self) -> int:
        """Return the time that the clock shows."""
        return self._true_us() + self._offset_us + self._gained_us()

    def jump(self, by_ms: int) -> None:
        """Set the clock forward or, if negative, back."""
        self._offset_us += by_ms * 1000

    def skew(self, ppm: int) -> None:
        """Let the clock run faster (slower, if `ppm` is negative) by `ppm` parts per million until
        `set_right`."""
        self._offset_us += self._gained_us()
        self._ppm, self._since_us = ppm, self._true_us()

    def set_right(self) -> None:
        """Set the clock to the true time, and let it run at the right rate."""
        self._offset_us = self._ppm = 0

    def _gained_us(self) -> int:
        return (self._true_us() - self._since_us) * self._ppm // 1_000_000
