"""Say the same thing seldom: a reason that comes back several times a second is logged once."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

AGAIN_S = 60.0
"""The seconds after which something may be said again."""
KEYS_MAX = 1000


class Seldom:
    """Remembers which text was said last about each thing, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[Hashable, tuple[str, float]] = {}
        """Thing -> the text that was said last about it, and the time of that."""

    def is_due(self, about: Hashable, text: str) -> bool:
        """Return whether to say this text now, and note that it is said: if it differs from the
        last text about the same thing, or that is AGAIN_S ago."""
        now_s = self._clock()
        said, at_s = self._said.get(about, ("", 0.0))
        if text == said and now_s - at_s < AGAIN_S:
            return False
        if len(self._said) >= KEYS_MAX:
            self._said.clear()
        self._said[about] = text, now_s
        return True
