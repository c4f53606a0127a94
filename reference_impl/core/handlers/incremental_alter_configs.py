"""IncrementalAlterConfigs (API key 44). Spec: KIP-339."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.configs.keys import ConfigType, split_list
from reference_impl.core.controller.config_changes import Configured
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.altering_configs import alter_all, value_of
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("IncrementalAlterConfigsResponse")
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def handle_incremental_alter_configs(controller: Controller, request: Request) -> Iterator[Effect]:
    """Set, delete, append to or subtract from single keys of resources (validate_only: only check
    that this is possible). Each resource changes completely or not at all, and has its own
    result."""
    # VALIDATE, DEDUPLICATE and APPLY happen for each resource on its own: change_to.
    rows = yield from alter_all(controller, request, RESPONSE, changed, is_unreadable)
    # RESPOND
    yield Respond(request, RESPONSE.new(responses=rows))


def is_unreadable(resource: Struct) -> bool:
    """Return whether a resource makes Kafka's controller fail with an exception, because it names
    an operation that does not exist. Return False for a broker's resource, and if a key lacks its
    value: the broker that gets the request from the client refuses those before."""
    strange = any(row.config_operation not in OPERATIONS for row in resource.configs)
    valued = all(row.value is not None or is_delete(row) for row in resource.configs)
    return strange and valued and resource.resource_type != BROKER_RESOURCE


def is_delete(row: Struct) -> bool:
    """Return whether a row removes a key, so that it needs no value."""
    return bool(row.config_operation == DELETE)


def changed(resource: Configured, wanted: Struct) -> Mapping[str, str]:
    """Return the overrides after the operations of the request (ConfigurationControlManager.java).
    Raise Refused for an unknown operation, for a null value, or if items are added to or removed
    from a key that is not a list."""
    after = dict(resource.overrides)
    for row in wanted.configs:
        if row.config_operation not in OPERATIONS:
            value_of(row)
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"Unknown operations type {row.config_operation}"
            )
        if row.config_operation == DELETE:
            after.pop(row.name, None)
        elif row.config_operation == SET:
            after[row.name] = value_of(row)
        else:
            after[row.name] = changed_list(resource, row)
    return after


def changed_list(resource: Configured, row: Struct) -> str:
    """Return the value of a list key with the row's items appended, unless it has them, or
    subtracted. Begin with the key's default if it has no override. Raise Refused if the key is not
    a list (INVALID_CONFIG) or the row's value is null."""
    key = resource.lists.get(row.name)
    if key is None or key.type is not ConfigType.LIST:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Can't {OPERATIONS[row.config_operation]} to key {row.name} because its type is not"
            " LIST.",
        )
    items = split_list(resource.overrides.get(row.name, key.default or ""))
    named = split_list(value_of(row))
    known = frozenset(items if row.config_operation == APPEND else named)  # of thousands, perhaps
    if row.config_operation == APPEND:
        items += [item for item in named if item not in known]
    else:
        items = [item for item in items if item not in known]
    return ",".join(items)
