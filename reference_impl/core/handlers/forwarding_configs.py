"""Forward changes of configurations, except those of other brokers' own, and those of this broker
that only it can check.

Source: ConfigAdminManager.java (preprocess, reassembleIncrementalResponse). The configuration of
one broker is changed by a request to that broker. The controller, which may be on another node,
then changes what it is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from reference_impl.core.broker import Broker
from reference_impl.core.configs.dynamic import ALL_BROKERS
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.controller.config_changes import check_own_id, find_configured
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.alter_configs import replacement
from reference_impl.core.handlers.altering_configs import Overriding
from reference_impl.core.handlers.forwarding import forward, outcome
from reference_impl.core.handlers.incremental_alter_configs import changed
from reference_impl.core.log.directories.cordoned import CORDONED, check_cordoned
from reference_impl.core.refused import Refused
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition, response_definition


def forward_change_of_configs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request, without the rows that this broker refuses.
    Answer with the controller's rows and, in the places of the rows left out, their refusals."""
    asked = request.body
    refused = refused_rows(broker, request)
    if not refused:
        yield from forward(broker, request)
        return
    rest = [row for place, row in enumerate(asked.resources) if place not in refused]
    answers: list[Struct] = []
    if rest:
        of = request_definition(request.api_key)
        body = of.new(resources=rest, validate_only=asked.validate_only)
        end = yield from outcome(broker, replace(request, body=body))
        if not isinstance(end, Respond):
            yield end
            return
        answers = list(end.body.responses)
    for place, row in sorted(refused.items()):
        answers.insert(place, row)
    yield Respond(request, response_definition(request.api_key).new(responses=answers))


def refused_rows(broker: Broker, request: Request) -> dict[int, Struct]:
    """Return a row that refuses each resource that is a broker other than this one, or would have
    cordoned directories that are not its own, by the resource's place in the request. Leave out a
    resource that is named twice: the controller refuses it."""
    resources, of = request.body.resources, response_definition(request.api_key)
    times = Counter((row.resource_type, row.resource_name) for row in resources)
    refused = {}
    for place, row in enumerate(resources):
        key = row.resource_type, row.resource_name
        if row.resource_type != BROKER_RESOURCE or times[key] > 1:
            continue
        try:
            check_own_id(broker.node_id, row.resource_name)
            check_directories(broker, request, row)
        except Refused as error:
            refused[place] = of.struct(
                "AlterConfigsResourceResponse",
                error_code=error.code,
                error_message=error.message,
                resource_type=row.resource_type,
                resource_name=row.resource_name,
            )
    return refused


def check_directories(broker: Broker, request: Request, resource: Struct) -> None:
    """Raise Refused if a change of this broker's configuration, or of that of all brokers, would
    cordon a directory which this broker does not have, or one of all brokers (KIP-1066)."""
    if all(row.name != CORDONED for row in resource.configs):
        return
    configured = find_configured(broker, BROKER_RESOURCE, resource.resource_name)
    after = _AFTER[request.api_key](configured, resource)
    if resource.resource_name == ALL_BROKERS and CORDONED in after:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs at default cluster level, broker id must be specified:"
            f" [{CORDONED}]",
        )
    try:
        check_cordoned(after.get(CORDONED, ""), [broker.data_directory.path])
    except BadConfig as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None


_AFTER: Mapping[int, Overriding] = {
    ApiKey.ALTER_CONFIGS: replacement,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: changed,
}
"""API -> the function that returns the overrides of a resource afterwards."""
