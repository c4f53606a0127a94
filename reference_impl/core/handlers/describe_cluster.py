"""DescribeCluster (API key 60). Spec: KIP-700; KIP-919 (endpoint type, v1), KIP-1073 (fenced
brokers, v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.requests.alive_brokers import alive_brokers, controller_told
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, definition
from reference_impl.wire.acls import ResourceType

RESPONSE = definition("DescribeClusterResponse")
BROKERS, CONTROLLERS = 1, 2


def handle_describe_cluster(broker: Broker, request: Request) -> Iterator[Effect]:
    """Describe the brokers of the cluster: the live ones, and the fenced ones if the request wants
    them. Refuse a request for other endpoints than brokers'."""
    body = request.body
    # VALIDATE
    # [New in v1: KIP-919]
    if body.endpoint_type != BROKERS:
        known = body.endpoint_type == CONTROLLERS
        yield Respond(
            request,
            RESPONSE.new(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
                if known
                else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
                error_message="The request was sent to an endpoint of type BROKER.",
                endpoint_type=BROKERS,
            ),
        )
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    # [New in v2: KIP-1073]
    told = alive_brokers(broker, request, with_fenced=body.include_fenced_brokers)
    alive = {node_id: each for node_id, each in told.items() if not each.is_fenced}
    answer = RESPONSE.new(
        cluster_id=broker.cluster_id, controller_id=controller_told(broker, alive)
    )
    answer.brokers = [
        RESPONSE.struct(
            "DescribeClusterBroker",
            broker_id=each.node_id,
            host=each.endpoint.host,
            port=each.endpoint.port,
            rack=each.rack,
            is_fenced=each.is_fenced,
        )
        for each in told.values()
    ]
    if body.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = (
            broker.access.operations(request, ResourceType.CLUSTER)
            if broker.access.may(request, DESCRIBE_CLUSTER)
            else 0
        )
    yield Respond(request, answer)
