"""DescribeProducers (API key 61). Spec: KIP-664."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.topic_names import problem_with
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.log.producers.state import ProducerEntry
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import READ_TOPIC
from reference_impl.wire import ERRORS, ErrorCode, Struct, definition

RESPONSE = definition("DescribeProducersResponse")


def handle_describe_producers(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the active producers of partitions: ids, epochs, last sequence numbers and open
    transactions. Answer for one partition at most REPETITIONS_MAX times."""
    # DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    answer = RESPONSE.new()
    asked = Repetitions()
    for topic in request.body.topics:
        rows = []
        for index in topic.partition_indexes:
            if asked.allow((topic.name, index)):
                rows.append((yield from described(broker, request, topic.name, index)))
            yield GiveWay(request)
        answer.topics.append(RESPONSE.struct("TopicResponse", name=topic.name, partitions=rows))
        yield GiveWay(request)
    yield Respond(request, answer)


def described(
    broker: Broker, request: Request, topic: str, index: int
) -> Generator[Effect, None, Struct]:
    """Return the row of one partition, with its producers or the reason why it cannot be described.
    Give way after each producer: there may be a hundred thousand."""
    row = RESPONSE.struct("PartitionResponse", partition_index=index)
    # VALIDATE
    try:
        broker.access.require(request, READ_TOPIC, topic)
        if (problem := problem_with(topic)) is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        partition = broker.led_partition(topic, None, index)
    except Refused as refused:
        row.error_code = refused.code
        row.error_message = refused.message or ERRORS[refused.code].message
        return row
    row.active_producers = yield from for_each(
        request, list(partition.log.producer_state.entries()), producer
    )
    return row


def producer(entry: ProducerEntry) -> Struct:
    """Return the row of one producer. Its transaction start offset is -1 if no transaction is
    open."""
    first_offset = entry.current_txn_first_offset
    return RESPONSE.struct(
        "ProducerState",
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=-1 if first_offset is None else first_offset,
    )
