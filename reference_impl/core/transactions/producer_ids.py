"""Producer ids: unique for ever, handed out of a block that the controller allocated. Source:
KIP-730, ProducerIdManager.java."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


class ProducerIds:
    """The rest of the current block. A restart abandons it, so no id is given twice."""

    def __init__(
        self, allocate: Callable[[], tuple[range, int]], is_applied: Callable[[int], bool]
    ) -> None:
        """Create it without a block. allocate: gets the next block from the controller, and the
        offset at which it is committed; is_applied: tells whether this broker has applied the
        metadata up to that offset."""
        self._allocate, self._is_applied = allocate, is_applied
        self._left, self._committed_at = range(0), 0

    def take(self) -> int:
        """Return the next free producer id. Raise Refused while its block is not committed, so that
        the client asks again."""
        if not self._left:
            self._left, self._committed_at = self._allocate()
        if not self._is_applied(self._committed_at):
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        taken, self._left = self._left[0], self._left[1:]
        return taken
