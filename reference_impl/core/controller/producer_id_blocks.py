"""Allocating producer ids: in blocks, each to one broker. Source: KIP-730,
ProducerIdControlManager.java."""

from __future__ import annotations

from reference_impl.core.controller.controller import Controller
from reference_impl.wire import definition

BLOCK_SIZE = 1000
"""The ids of one block, so that a thousand producers need one metadata record
(ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


def allocate_block(controller: Controller, broker_id: int, broker_epoch: int) -> range:
    """Return a block of ids that no broker has had, and write in the metadata log that this broker
    has it. The caller must not use an id before that record is committed."""
    first = controller.image.next_producer_id
    block = range(first, first + BLOCK_SIZE)
    record = definition("ProducerIdsRecord").new(
        broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=block.stop
    )
    controller.rules.reserve_producer_ids(controller.write, record)
    return block
