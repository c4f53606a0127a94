"""The common part of AlterConfigs and IncrementalAlterConfigs: change each named resource, and
answer for each one separately.

Source: ConfigAdminManager.java (preprocess).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

from reference_impl.core.controller.config_changes import (
    Configured,
    change_to,
    check_min_insync_replicas,
    check_node_exists,
    find_configured,
)
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from reference_impl.core.effects import Effect, GiveWay
from reference_impl.core.events import Request
from reference_impl.core.log.directories.cordoned import CORDONED, adds_directories
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import counted
from reference_impl.core.security.authorization.permissions import (
    ALTER_CONFIGS_OF_CLUSTER,
    ALTER_CONFIGS_OF_GROUP,
    ALTER_CONFIGS_OF_TOPIC,
)
from reference_impl.wire import Definition, ErrorCode, Struct

Overriding = Callable[[Configured, Struct], Mapping[str, str]]
"""A function from a row of the request to the resource's overrides afterwards. Raises Refused."""
Spoiling = Callable[[Struct], bool]
"""A function that returns whether a well-formed resource makes the controller fail the whole
request."""


def alter_all(
    controller: Controller,
    request: Request,
    response: Definition,
    wanted: Overriding,
    spoils: Spoiling = lambda _: False,
) -> Generator[Effect, None, list[Struct]]:
    """Change each resource completely or not at all (validate_only: only check), and return the
    rows of the answer in the order of the request. A resource that is named twice is refused each
    time. If one `spoils` the request, each resource that is not refused otherwise gets
    UNKNOWN_SERVER_ERROR. wanted: returns a resource's overrides afterwards."""
    times = yield from counted(
        request, ((row.resource_type, row.resource_name) for row in request.body.resources)
    )
    rows, admitted, spoilt = [], [], False
    for resource in request.body.resources:
        yield GiveWay(request)
        row = response.struct(
            "AlterConfigsResourceResponse",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            error_message=None,
        )
        rows.append(row)
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            check_form(resource)
            may_alter(controller, request, resource)
            admitted.append((resource, row))
            spoilt = spoilt or spoils(resource)
        except Refused as refused:
            row.error_code, row.error_message = refused.code, refused.message
    for resource, row in admitted:
        yield GiveWay(request)
        try:
            if spoilt:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
            configured = find_configured(controller, resource.resource_type, resource.resource_name)
            after = wanted(configured, resource)
            if configured.resource_type == BROKER_RESOURCE:
                if request.is_for_controller:  # no broker has checked it
                    check_removes_only(configured.overrides, after)
                    check_min_insync_replicas(controller, configured, after)
                check_node_exists(controller, configured.name)
            change_to(controller, configured, after, validate_only=request.body.validate_only)
        except Refused as refused:
            row.error_code, row.error_message = refused.code, refused.message
    return rows


def may_alter(controller: Controller, request: Request, resource: Struct) -> None:
    """Raise Refused if the client may not alter the resource; configurations of brokers and of
    clients' metrics belong to the cluster."""
    if resource.resource_type == TOPIC_RESOURCE:
        controller.access.require(request, ALTER_CONFIGS_OF_TOPIC, resource.resource_name)
    elif resource.resource_type == GROUP_RESOURCE:
        controller.access.require(request, ALTER_CONFIGS_OF_GROUP, resource.resource_name)
    else:
        controller.access.require(request, ALTER_CONFIGS_OF_CLUSTER)


def check_form(resource: Struct) -> None:
    """Raise Refused for a key that is named twice, or for a topic or group resource without a
    name."""
    if resource.resource_type == TOPIC_RESOURCE and not resource.resource_name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    if resource.resource_type == GROUP_RESOURCE and not resource.resource_name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    names = [row.name for row in resource.configs]
    if len(set(names)) != len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def check_removes_only(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise Refused if a broker would get more cordoned directories by a request that it has not
    checked (KIP-1066)."""
    if adds_directories(before.get(CORDONED, ""), after.get(CORDONED, "")):
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"When updating {CORDONED} via controllers, the new value must be a subset of the"
            " current configuration value.",
        )


def value_of(row: Struct) -> str:
    """Return the value in a row of the request. Raise Refused if it is null."""
    if row.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {row.name}")
    value: str = row.value
    return value
