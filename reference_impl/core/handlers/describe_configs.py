"""DescribeConfigs (API key 32). Spec: KIP-133; KIP-226 (sources, synonyms), KIP-569 (types and
documentation, v3).

Not modelled: loggers.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.configs.dynamic import ALL_BROKERS
from reference_impl.core.configs.entries import (
    ConfigEntry,
    broker_entries,
    client_metrics_entries,
    entries_for_all_brokers,
    group_entries,
    topic_entries,
)
from reference_impl.core.controller.config_changes import check_own_id, find_configured
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import (
    DESCRIBE_CONFIGS_OF_CLUSTER,
    DESCRIBE_CONFIGS_OF_GROUP,
    DESCRIBE_CONFIGS_OF_TOPIC,
)
from reference_impl.wire import Struct, definition

RESPONSE = definition("DescribeConfigsResponse")


def handle_describe_configs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the configurations in force, and the source of each value. Answer for one
    resource with the same keys at most REPETITIONS_MAX times."""
    results = []
    pause = GiveWay(request)
    asked = Repetitions()
    for wanted in request.body.resources:
        yield pause
        only = frozenset(wanted.configuration_keys or ())
        if not asked.allow((wanted.resource_type, wanted.resource_name, only)):
            continue
        result = RESPONSE.struct(
            "DescribeConfigsResult",
            resource_type=wanted.resource_type,
            resource_name=wanted.resource_name,
        )
        results.append(result)
        try:
            # VALIDATE. DEDUPLICATE, APPLY: reading changes nothing.
            may_describe(broker, request, wanted)
            entries = list(entries_of(broker, wanted.resource_type, wanted.resource_name, only))
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.message
            continue
        result.configs = [row(entry, request.body) for entry in entries]
    # RESPOND
    yield Respond(request, RESPONSE.new(results=results))


def may_describe(broker: Broker, request: Request, wanted: Struct) -> None:
    """Raise Refused if the client may not describe the resource; configurations of brokers and of
    clients' metrics belong to the cluster."""
    if wanted.resource_type == TOPIC_RESOURCE:
        broker.access.require(request, DESCRIBE_CONFIGS_OF_TOPIC, wanted.resource_name)
    elif wanted.resource_type == GROUP_RESOURCE:
        broker.access.require(request, DESCRIBE_CONFIGS_OF_GROUP, wanted.resource_name)
    else:
        broker.access.require(request, DESCRIBE_CONFIGS_OF_CLUSTER)


def entries_of(
    broker: Broker, resource_type: int, name: str, only: frozenset[str]
) -> Iterator[ConfigEntry]:
    """Return an iterator over the keys of a resource: all of them if `only` is empty, else those
    with these names. Raise Refused if the resource does not exist, or is a broker other than this
    one."""
    if resource_type == BROKER_RESOURCE:
        check_own_id(broker.node_id, name)
    resource = find_configured(broker, resource_type, name)
    if resource_type == TOPIC_RESOURCE:
        return topic_entries(broker, resource.overrides, only)
    if resource_type == GROUP_RESOURCE:
        return group_entries(broker, resource.overrides, only)
    if resource_type == CLIENT_METRICS_RESOURCE:
        return client_metrics_entries(resource.overrides, only)
    if name == ALL_BROKERS:
        return entries_for_all_brokers(broker, only)
    return broker_entries(broker, only)


def row(entry: ConfigEntry, asked: Struct) -> Struct:
    """Return the row of one key. Leave out the values of a sensitive key, and the synonyms and the
    documentation unless the request (`asked`) includes them."""
    synonyms = [
        RESPONSE.struct(
            "DescribeConfigsSynonym",
            name=synonym.name,
            value=None if entry.is_sensitive else synonym.value,
            source=synonym.source,
        )
        for synonym in entry.synonyms
    ]
    return RESPONSE.struct(
        "DescribeConfigsResourceResult",
        name=entry.key.name,
        value=None if entry.is_sensitive else entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=synonyms if asked.include_synonyms else [],
        config_type=entry.key.type,
        documentation=entry.documentation if asked.include_documentation else None,
    )
