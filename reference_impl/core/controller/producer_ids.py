"""Producer ids: unique for ever, handed out in blocks. Source: KIP-730, ProducerIdManager.java."""

from __future__ import annotations

from reference_impl.core.controller.metadata_log import MetadataLog
from reference_impl.core.rules import Rules
from reference_impl.wire import definition

BLOCK_SIZE = 1000
"""ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE: one metadata record per thousand producers."""


class ProducerIds:
    """The rest of the current block. A restart abandons it, so no id is given twice."""

    def __init__(self, metadata: MetadataLog, node_id: int, rules: Rules) -> None:
        self._metadata, self._node_id, self._rules = metadata, node_id, rules
        self._next = self._end = 0

    def take(self, now_ms: int) -> int:
        """Return the next free producer id."""
        if self._next == self._end:
            self._next = self._metadata.image.next_producer_id
            self._end = self._next + BLOCK_SIZE
            record = definition("ProducerIdsRecord").new(
                broker_id=self._node_id, broker_epoch=0, next_producer_id=self._end
            )
            self._rules.reserve_producer_ids(self._metadata, record, now_ms)
        taken = self._next
        self._next += 1
        return taken
