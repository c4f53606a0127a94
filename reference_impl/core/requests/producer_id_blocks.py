"""Request blocks of producer ids from the active controller. Source: RPCProducerIdManager.java;
KIP-730."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Report
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.wire import ApiKey, ErrorCode, definition

REQUEST = definition("AllocateProducerIdsRequest")
TIMEOUT_MS = 60_000


def ask_for_blocks(broker: Broker) -> None:
    """Give this broker's ProducerIds the function that fetches a block; at most one fetch runs at a
    time."""
    broker.producer_ids.ask = lambda: broker.outbox.post("producer ids", fetch_block(broker))


def fetch_block(broker: Broker) -> Iterator[Effect]:
    """Fetch the next block of producer ids from the active controller, and add it to the broker's.
    If that fails, report it; the next producer that needs an id causes another attempt."""
    body = REQUEST.new(broker_id=broker.node_id, broker_epoch=broker.broker_epoch)
    try:
        answer = yield from ask_controller(broker, ApiKey.ALLOCATE_PRODUCER_IDS, body, TIMEOUT_MS)
        if answer.error_code != ErrorCode.NONE:
            raise Refused(ErrorCode(answer.error_code), "the controller allocates no producer ids")
    except Refused as refused:
        yield Report(f"broker {broker.node_id} has got no producer ids: {refused}")
        return
    first = answer.producer_id_start
    broker.producer_ids.add(range(first, first + answer.producer_id_len))
