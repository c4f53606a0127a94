"""ListConfigResources (API key 74). Spec: KIP-1142 (all types, v1); KIP-1000 (version 0, which was
called ListClientMetricsResources).
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import DESCRIBE_CONFIGS_OF_CLUSTER
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("ListConfigResourcesResponse")
BROKER_LOGGER = 8
KNOWN = (TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)


def handle_list_config_resources(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the names of the resources of the requested types, or of all: every broker and
    topic, and the groups and metrics subscriptions that have a configuration."""
    # VALIDATE
    if not broker.access.may(request, DESCRIBE_CONFIGS_OF_CLUSTER):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    # [New in v1: KIP-1142]
    wanted = set(request.body.resource_types or KNOWN)
    if request.api_version == 0:
        wanted = {CLIENT_METRICS_RESOURCE}
    if not wanted <= set(KNOWN):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.UNSUPPORTED_VERSION))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    found = []
    if BROKER_RESOURCE in wanted:
        found += [(BROKER_RESOURCE, str(node)) for node in sorted(broker.image.brokers)]
    if TOPIC_RESOURCE in wanted:
        found += [(TOPIC_RESOURCE, name) for name in sorted(broker.image.topics)]
    if GROUP_RESOURCE in wanted:
        groups = broker.image.group_configs
        found += [(GROUP_RESOURCE, name) for name in sorted(groups) if groups[name]]
    if CLIENT_METRICS_RESOURCE in wanted:
        named = broker.image.client_metrics
        found += [(CLIENT_METRICS_RESOURCE, name) for name in sorted(named) if named[name]]
    # RESPOND
    resources = yield from for_each(
        request,
        found,
        lambda pair: RESPONSE.struct(
            "ConfigResource", resource_type=pair[0], resource_name=pair[1]
        ),
    )
    yield Respond(request, RESPONSE.new(config_resources=resources))
