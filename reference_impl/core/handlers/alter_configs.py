"""AlterConfigs (API key 33). Spec: KIP-133.

The request removes every override that it does not name, so two clients that change one resource
undo each other's work. IncrementalAlterConfigs (KIP-339) was made to avoid that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.controller.config_changes import Configured
from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.altering_configs import alter_all, value_of
from reference_impl.wire import Struct, definition

RESPONSE = definition("AlterConfigsResponse")


def handle_alter_configs(controller: Controller, request: Request) -> Iterator[Effect]:
    """Replace all overrides of each named resource by those that the request names (validate_only:
    only check that this is possible). Each resource changes completely or not at all, and has its
    own result."""
    # VALIDATE, DEDUPLICATE and APPLY happen for each resource on its own: change_to.
    rows = yield from alter_all(controller, request, RESPONSE, replacement)
    # RESPOND
    yield Respond(request, RESPONSE.new(responses=rows))


def replacement(_: Configured, wanted: Struct) -> Mapping[str, str]:
    """Return the new overrides of a resource: exactly those that the request names. Raise Refused
    for a null value."""
    return {row.name: value_of(row) for row in wanted.configs}
