"""Producer ids: unique for ever, handed out of a block that the controller allocated. Source:
KIP-730, ProducerIdManager.java."""

from __future__ import annotations

from collections.abc import Callable


class ProducerIds:
    """The rest of the current block. A restart abandons it, so no id is given twice."""

    def __init__(self, allocate: Callable[[], range]) -> None:
        """Create it without a block. allocate: how the next one is got from the controller."""
        self._allocate = allocate
        self._left = range(0)

    def take(self) -> int:
        """Return the next free producer id."""
        if not self._left:
            self._left = self._allocate()
        taken, self._left = self._left[0], self._left[1:]
        return taken
