"""Producer ids: unique for ever, handed out in blocks. Source: KIP-730, ProducerIdManager.java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.wire import definition

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker

BLOCK_SIZE = 1000
"""ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE: one metadata record per thousand producers."""


class ProducerIds:
    """The rest of the current block. A restart abandons it, so no id is given twice."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._next = self._end = 0

    def take(self) -> int:
        """The next free id."""
        if self._next == self._end:
            self._next = self._broker.image.next_producer_id
            self._end = self._next + BLOCK_SIZE
            record = definition("ProducerIdsRecord").new(
                broker_id=self._broker.node_id, broker_epoch=0, next_producer_id=self._end
            )
            self._broker.publish([record])
        taken = self._next
        self._next += 1
        return taken
