"""AlterClientQuotas (API key 49). Spec: KIP-546; ClientQuotaControlManager.java.

Not modelled: quotas of processor time (request_percentage) and of changes to topics
(controller_mutation_rate). They are refused: a quota that is accepted and not enforced would
deceive the administrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.client_quotas import (
    CLIENT_ID,
    IP,
    USER,
    Entity,
    entity_of,
    quota_record,
)
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.quotas.connections import CREATION_RATE
from reference_impl.core.quotas.throttling import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import ALTER_CONFIGS_OF_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("AlterClientQuotasResponse")
KEYS = (CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE)
APPLIED_AT_ONCE = 100
"""The number of records written in one batch; more if the changes of one entity need more."""
EPSILON = 1e-6
"""The tolerance in checking that a rate in bytes is a whole number, because a float64 is
inexact."""


def handle_alter_client_quotas(controller: Controller, request: Request) -> Iterator[Effect]:
    """Set and remove quotas (validate_only: only check that this is possible). Each entity changes
    completely or not at all, and has one row in the answer. If an entity is named twice, only its
    first entry takes effect, and its row tells that the last was refused."""
    rows: dict[tuple[tuple[str, str | None], ...], Struct] = {}
    records: list[Struct] = []
    seen: set[Entity] = set()
    for wanted in request.body.entries:
        if len(records) >= APPLIED_AT_ONCE:
            controller.write(records)
            records = []
        yield GiveWay(request)
        entity_rows = yield from for_each(request, wanted.entity, entity_row)
        row = RESPONSE.struct("EntryData", error_message=None, entity=entity_rows)
        # Of an entity that is named twice, the first entry counts, and the last is answered.
        rows[tuple((part.entity_type, part.entity_name) for part in entity_rows)] = row
        try:
            # VALIDATE
            controller.access.require(request, ALTER_CONFIGS_OF_CLUSTER)
            entity = checked_entity(wanted)
            # DEDUPLICATE
            if entity in seen:
                raise _invalid(f"Ignoring duplicate entity {dict(entity)}")
            seen.add(entity)
            wanted_changes = changes(controller, entity, wanted)
            if not request.body.validate_only:
                records += wanted_changes
        except Refused as refused:
            row.error_code, row.error_message = refused.code, refused.message
    # APPLY
    if records:
        controller.write(records)
    # RESPOND
    yield Respond(request, RESPONSE.new(entries=list(rows.values())))


def checked_entity(wanted: Struct) -> Entity:
    """Return the entity of one entry. Raise Refused if it has no part, an unknown type, an empty
    name, an invalid address, or an address together with other types."""
    names = {row.entity_type: row.entity_name for row in wanted.entity}
    for kind, name in names.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if not names or (IP in names and len(names) > 1):
        raise _invalid("Invalid empty client quota entity")
    address = names.get(IP)
    if address is not None and not _is_address(address):
        raise _invalid(f"{address} is not a valid IP")
    return entity_of(names)


def _is_address(name: str) -> bool:
    """Return whether a name is an IP address. Return False for a host name, though Kafka accepts
    one that it can resolve."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def changes(controller: Controller, entity: Entity, wanted: Struct) -> list[Struct]:
    """Return the metadata records for one entry's changes; a value that is already set or already
    removed needs none. Raise Refused if the entry names a key twice, or a key or value is not
    valid."""
    has = controller.image.client_quotas.of(entity)
    asked: dict[str, float | None] = {}
    for row in wanted.ops:
        if row.key in asked:
            raise _invalid(f"Duplicate quota key {row.key} of entity {dict(entity)}")
        asked[row.key] = None if row.remove else checked_value(entity, row)
    return [
        quota_record(entity, key, value) for key, value in asked.items() if has.get(key) != value
    ]


def checked_value(entity: Entity, row: Struct) -> float:
    """Return the value of one quota. Raise Refused if the entity has no such quota, or if the value
    is not above zero, too large, or has a fraction."""
    is_of_address = entity[0][0] == IP
    if row.key != CREATION_RATE if is_of_address else row.key not in KEYS:
        raise _invalid(f"Invalid configuration key {row.key}")
    value: float = row.value
    if value <= 0:
        raise _invalid(f"Quota {row.key} must be greater than 0")
    kind, bits = ("n Integer", 31) if is_of_address else (" Long", 63)
    if not value < float(1 << bits) or value - int(value) > EPSILON:
        raise _invalid(f"Configuration {row.key} must be a{kind} value")
    return value


def entity_row(row: Struct) -> Struct:
    """Return one part of an entity in the form in which the answer repeats it."""
    return RESPONSE.struct("EntityData", entity_type=row.entity_type, entity_name=row.entity_name)


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
