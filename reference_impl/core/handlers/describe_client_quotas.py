"""DescribeClientQuotas (API key 48). Spec: KIP-546; ClientQuotasImage.java."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.client_quotas import CLIENT_ID, IP, USER, Entity
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DESCRIBE_CONFIGS_OF_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeClientQuotasResponse")
EXACT, DEFAULT, ANY = 0, 1, 2
"""The match types of a filter's component (MatchType)."""


def handle_describe_client_quotas(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the quotas of every entity that matches the filter."""
    components = request.body.components
    try:
        # VALIDATE
        broker.access.require(request, DESCRIBE_CONFIGS_OF_CLUSTER)
        check(components)
    except Refused as refused:
        answer = RESPONSE.new(error_code=refused.code, error_message=refused.message, entries=None)
        yield Respond(request, answer)
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    entries = []
    for entity, quotas in list(broker.image.client_quotas):
        yield GiveWay(request)
        if matches(entity, components, strict=request.body.strict):
            entries.append(row(entity, quotas))
    # RESPOND
    yield Respond(request, RESPONSE.new(error_message="", entries=entries))


def check(components: Sequence[Struct]) -> None:
    """Raise Refused if the filter is invalid: an entity type that is empty, unknown or named twice,
    a match type that does not fit its match string, or addresses together with other types."""
    seen: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            raise Refused(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in seen:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Entity type {kind} cannot appear more than once in the filter.",
            )
        if kind not in (USER, CLIENT_ID, IP):
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        seen.add(kind)
        if component.match_type not in (EXACT, DEFAULT, ANY):
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
        if (component.match is None) is (component.match_type == EXACT):
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"The filter by {kind} needs a match string for an exact match, and only there.",
            )
    if IP in seen and len(seen) > 1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "IP filter component should not be used with user or clientId filter component.",
        )


def matches(entity: Entity, components: Sequence[Struct], *, strict: bool) -> bool:
    """Return whether each component of the filter matches the entity. With `strict`, the entity
    must have no other types, and an empty filter matches none."""
    names = dict(entity)
    if strict and (len(names) != len(components) or not components):
        return False
    return all(
        component.entity_type in names
        and component.match_type in (ANY, EXACT if names[component.entity_type] else DEFAULT)
        and (component.match_type == ANY or component.match == names[component.entity_type])
        for component in components
    )


def row(entity: Entity, quotas: Mapping[str, float]) -> Struct:
    """Return the row of one entity with its quotas."""
    return RESPONSE.struct(
        "EntryData",
        entity=[
            RESPONSE.struct("EntityData", entity_type=kind, entity_name=name)
            for kind, name in entity
        ],
        values=[
            RESPONSE.struct("ValueData", key=key, value=value)
            for key, value in sorted(quotas.items())
        ],
    )
