"""DescribeConfigs (API key 32). Spec: KIP-133; KIP-226 (sources, synonyms), KIP-569 (types).

Not modelled: documentation texts, client metrics, loggers, groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.config_entries import ConfigEntry, broker_entries, topic_entries
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.topic_names import problem_with
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeConfigsResponse")
TOPIC, BROKER = 2, 4
"""ConfigResource.Type."""
ALL_BROKERS = ""


def handle_describe_configs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Tell what is in force, and why."""
    results = []
    for wanted in request.body.resources:
        result = RESPONSE.struct(
            "DescribeConfigsResult",
            resource_type=wanted.resource_type,
            resource_name=wanted.resource_name,
            error_message=None,
        )
        results.append(result)
        try:
            # VALIDATE. DEDUPLICATE, APPLY: reading changes nothing.
            entries = entries_of(broker, wanted)
        except Refused as refused:
            result.error_code, result.error_message = refused.code, refused.message
            continue
        keys = wanted.configuration_keys
        result.configs = [
            row(entry, request.body.include_synonyms)
            for entry in entries
            if not keys or entry.key.name in keys
        ]
    # RESPOND
    yield Respond(request, RESPONSE.new(results=results))


def entries_of(broker: Broker, wanted: Struct) -> Iterator[ConfigEntry]:
    """Every key of a resource; raises Refused."""
    name = wanted.resource_name
    if wanted.resource_type == TOPIC:
        problem = problem_with(name)
        if problem is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        topic = broker.image.topics.get(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic_entries(broker, topic)
    if wanted.resource_type != BROKER:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {wanted.resource_type}"
        )
    if name == ALL_BROKERS:
        return iter(())  # only what was changed for all brokers at run time, which cannot be
    if name != str(broker.node_id):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.node_id}, but received {name}",
        )
    return broker_entries(broker)


def row(entry: ConfigEntry, include_synonyms: bool) -> Struct:
    """One key."""
    synonyms = [
        RESPONSE.struct(
            "DescribeConfigsSynonym",
            name=synonym.name,
            value=synonym.value,
            source=synonym.source,
        )
        for synonym in entry.synonyms
    ]
    return RESPONSE.struct(
        "DescribeConfigsResourceResult",
        name=entry.key.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        synonyms=synonyms if include_synonyms else [],
        config_type=entry.key.type,
        documentation=None,
    )
