"""FindCoordinator (API key 10). Spec: FindCoordinatorRequest.json; KIP-699 (several keys, v4),
KIP-98 (transactions), KIP-932 (share groups, v6).

Not modelled: coordinators of share groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Report, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.service import GroupCoordinators
from reference_impl.core.refused import Refused
from reference_impl.core.requests.automatic_topics import (
    ensure_groups_topic,
    ensure_transactions_topic,
)
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import (
    CLUSTER_ACTION,
    DESCRIBE_GROUP,
    DESCRIBE_TRANSACTIONAL_ID,
)
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.transactions.service import TransactionCoordinators
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("FindCoordinatorResponse")
GROUP, TRANSACTION, SHARE = 0, 1, 2
SEVERAL_KEYS_SINCE, SHARE_SINCE = 4, 6


def handle_find_coordinator(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the broker that coordinates each group or transactional id, or with an error for
    it."""
    body = request.body
    # [Modified in v4: KIP-699]
    several = request.api_version >= SEVERAL_KEYS_SINCE
    keys = body.coordinator_keys if several else [body.key]
    rows = yield from for_each(request, keys, partial(found, broker, request))
    # RESPOND
    if several:
        for row in rows:  # since this version an empty message stands for none
            row.error_message = row.error_message or ""
        yield Respond(request, RESPONSE.new(coordinators=rows))
        return
    row = rows[0]
    yield Respond(
        request,
        RESPONSE.new(
            error_code=row.error_code,
            error_message=row.error_message,
            node_id=row.node_id,
            host=row.host,
            port=row.port,
        ),
    )


def found(broker: Broker, request: Request, key: str) -> Struct:
    """Return the row with the coordinator of one key, or with the error."""
    row = RESPONSE.struct("Coordinator", key=key, node_id=-1, host="", port=-1, error_message=None)
    try:
        coordinators = check(broker, request, key)
        row.node_id, address = located(broker, request, coordinators.topic.leader_of(key))
    except Refused as refused:
        row.error_code, row.error_message = refused.code, refused.message
        return row
    row.host, row.port = address.host, address.port
    return row


def located(broker: Broker, request: Request, leader: int) -> tuple[int, Endpoint]:
    """Return a node's id and its address on the listener that the client used. Raise Refused for a
    node that is unknown, is fenced or has no such address (KafkaApis.scala, getCoordinator)."""
    if leader == broker.node_id:
        return leader, broker.advertised_to(request)
    known = broker.image.brokers.get(leader)
    name = broker.connection_listeners.name_of(request.connection)
    if known is None or known.fenced or name not in known.listeners:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return leader, known.listeners[name]


def check(
    broker: Broker, request: Request, key: str
) -> GroupCoordinators | TransactionCoordinators:
    """Return this broker's coordinators of the key's kind. Raise Refused if the kind is not served,
    if the client lacks the permission, or if their topic does not exist yet; then also begin to
    create it."""
    # VALIDATE
    kind = request.body.key_type
    if kind not in (GROUP, TRANSACTION, SHARE):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if kind == GROUP:
        broker.access.require(request, DESCRIBE_GROUP, key)
    if kind == TRANSACTION:
        broker.access.require(request, DESCRIBE_TRANSACTIONAL_ID, key)
    # [New in v6: KIP-932]
    if kind == SHARE and request.api_version < SHARE_SINCE:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if kind == SHARE:
        broker.access.require(request, CLUSTER_ACTION)
        raise Refused(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, "This broker does not coordinate share groups."
        )
    # DEDUPLICATE: a topic that exists is not made again.
    # APPLY: as in Kafka, the first request creates the topic, and its client must ask again.
    of_transactions = kind == TRANSACTION
    coordinators = broker.transactions if of_transactions else broker.groups
    topic = coordinators.topic.name
    if topic not in broker.image.topics:
        ensure = ensure_transactions_topic if of_transactions else ensure_groups_topic
        broker.outbox.post(f"create {topic}", created(broker, topic, ensure))
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return coordinators


def created(broker: Broker, topic: str, ensure: Callable[[Broker], None]) -> Iterator[Effect]:
    """Request the creation of the internal topic of a kind of coordinator, or report to the
    operator why that failed."""
    try:
        ensure(broker)
    except Refused as refused:
        yield Report(f"the topic {topic} cannot be created: {refused}")
