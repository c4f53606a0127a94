"""Set and read client quotas (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from conformance.case import Unsupported, expect
from conformance.target.settings import broker_setting
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

ALTER, DESCRIBE = "AlterClientQuotas", "DescribeClientQuotas"
PLUGIN = "client.quota.callback.class"
USER, CLIENT_ID = "user", "client-id"
EXACT, DEFAULT, ANY = 0, 1, 2
"""The match types of a filter's component (DescribeClientQuotasRequest.json, MatchType)."""

Entity = Mapping[str, str | None]
"""Type of entity -> name; None stands for the default of that type."""


def entry(entity: Entity, **quotas: float | None) -> Struct:
    """Return an entity's entry of a request with changes to its quotas; the value None removes a
    quota."""
    return part(
        ALTER,
        "EntryData",
        entity=[
            part(ALTER, "EntityData", entity_type=kind, entity_name=name)
            for kind, name in entity.items()
        ],
        ops=[
            part(ALTER, "OpData", key=key, value=value or 0.0, remove=value is None)
            for key, value in quotas.items()
        ],
    )


def alter(wire: Wire, *entries: Struct, version: int = 1, validate_only: bool = False) -> list[int]:
    """Return the error code of each entry."""
    answer = wire.call(ALTER, version, entries=list(entries), validate_only=validate_only)
    return [row.error_code for row in answer.entries]


def component(kind: str, match_type: int, match: str | None = None) -> Struct:
    """Return a filter's component for one type of entity."""
    return part(DESCRIBE, "ComponentData", entity_type=kind, match_type=match_type, match=match)


def described(
    wire: Wire, *components: Struct, version: int = 1, strict: bool = False
) -> dict[tuple[tuple[str, str | None], ...], dict[str, float]]:
    """Return the quotas of every entity that matches the filter, by entity."""
    answer = wire.call(DESCRIBE, version, components=list(components), strict=strict)
    expect(answer.error_code, ErrorCode.NONE, "error of DescribeClientQuotas")
    return {
        key_of({part.entity_type: part.entity_name for part in row.entity}): {
            value.key: value.value for value in row.values
        }
        for row in answer.entries or ()
    }


def require_no_quotas(wire: Wire) -> None:
    """Raise Unsupported unless the target reveals that it throttles nobody by quotas."""
    if DESCRIBE not in wire.advertised:
        raise Unsupported(f"answers are throttled, and {DESCRIBE} is not advertised")
    answer = wire.call(DESCRIBE, components=[], strict=False)
    if answer.error_code != ErrorCode.NONE or answer.entries:
        found = answer.error_message or f"{len(answer.entries or ())} entities have quotas"
        raise Unsupported(f"answers are throttled, as quotas may demand: {found}")
    if plugin := broker_setting(wire, PLUGIN):
        raise Unsupported(f"answers are throttled, as {PLUGIN} may demand: {plugin}")


def key_of(entity: Entity) -> tuple[tuple[str, str | None], ...]:
    """Return an entity in the form of the keys of `described`."""
    return tuple(sorted(entity.items()))


def quotas_of(wire: Wire, entity: Entity, version: int = 1) -> dict[str, float]:
    """Return the quotas of exactly this entity."""
    filters = [
        component(kind, DEFAULT if name is None else EXACT, name) for kind, name in entity.items()
    ]
    return described(wire, *filters, version=version, strict=True).get(key_of(entity), {})


@contextmanager
def quota(wire: Wire, entity: Entity, **quotas: float) -> Iterator[None]:
    """Set quotas of an entity for a while."""
    expect(alter(wire, entry(entity, **quotas)), [ErrorCode.NONE], "errors of AlterClientQuotas")
    try:
        eventually(
            lambda: quotas_of(wire, entity),
            lambda found: found == quotas,
            f"the quotas of {dict(entity)} are described",
        )
        yield
    finally:
        alter(wire, entry(entity, **dict.fromkeys(quotas)))
