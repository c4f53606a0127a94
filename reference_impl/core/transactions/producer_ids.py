"""Producer ids: unique for ever, taken from a block that the controller has allocated to this
broker. Source: KIP-730, RPCProducerIdManager.java."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

ASK_WHEN_LEFT = 100
"""The next block of ids is requested when this many are left in the current one: a tenth
(PID_PREFETCH_THRESHOLD)."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A block of ids that the controller on this node has given to this broker, perhaps not
    committed."""

    ids: range
    end_offset: int
    """The offset after the decision's record in the metadata log."""
    decided_in: int
    """The quorum epoch in which the controller made the decision."""


class ProducerIds:
    """The producer ids that this broker may give to producers: the rest of the current block, and
    the next one. A restart abandons both, so that no id is given twice."""

    def __init__(
        self, reserve: Callable[[], Reserved | None], is_committed: Callable[[Reserved], bool]
    ) -> None:
        """Start without a block. reserve: returns the next block if the active controller is here,
        None if not. is_committed: returns whether that decision is committed, or raises Refused if
        it may have been lost."""
        self._reserve, self._is_committed = reserve, is_committed
        self._left, self._next = range(0), range(0)
        self._unsure: Reserved | None = None
        self.ask: Callable[[], None] = lambda: None
        """A function that requests a block from the active controller, wherever it is; the block
        arrives by `add` (`requests/producer_id_blocks.py`)."""

    @property
    def blocks(self) -> tuple[range, range]:
        """The ids left of the current block, as far as its allocation is committed, and the next
        block."""
        return range(0) if self._unsure is not None else self._left, self._next

    def add(self, block: range) -> None:
        """Store a committed block, in place of an earlier stored one, to be used when the current
        block is used up."""
        self._next = block

    def take(self) -> int:
        """Return the next free producer id, and ask for the next block when few are left. Raise
        Refused while no committed block has any, so that the client asks again."""
        if not self._left:
            self._begin_block()
        if self._unsure is not None:
            self._make_sure(self._unsure)
        taken, self._left = self._left[0], self._left[1:]
        if len(self._left) <= ASK_WHEN_LEFT and not self._next:
            self.ask()
        return taken

    def _begin_block(self) -> None:
        self._left, self._next = self._next, range(0)
        if self._left:
            return
        reserved = self._reserve()
        if reserved is None:
            self.ask()
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._left, self._unsure = reserved.ids, reserved

    def _make_sure(self, reserved: Reserved) -> None:
        try:
            is_committed = self._is_committed(reserved)
        except Refused:
            # Drop the block: the next controller may give its ids to another broker.
            self._left, self._unsure = range(0), None
            is_committed = False
        if not is_committed:
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._unsure = None
