"""IncrementalAlterConfigs (API key 44). Spec: KIP-339. Topics only: the keys of this broker are
read when it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.config_keys import BadConfig, ConfigType, split_list
from reference_impl.core.controller.metadata_image import TopicImage
from reference_impl.core.controller.records import topic_config
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.topic_configs import TOPIC_CONFIGS, check_topic_configs
from reference_impl.core.topic_names import problem_with
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("IncrementalAlterConfigsResponse")
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def handle_incremental_alter_configs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Change some keys of some resources; each resource changes wholly or not at all."""
    times = Counter((row.resource_type, row.resource_name) for row in request.body.resources)
    rows = []
    for wanted in request.body.resources:
        row = RESPONSE.struct(
            "AlterConfigsResourceResponse",
            resource_type=wanted.resource_type,
            resource_name=wanted.resource_name,
            error_message=None,
        )
        rows.append(row)
        try:
            if times[wanted.resource_type, wanted.resource_name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            alter_one(broker, request, wanted)
        except Refused as refused:
            row.error_code, row.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, RESPONSE.new(responses=rows))


def alter_one(broker: Broker, request: Request, wanted: Struct) -> None:
    """One resource; raises Refused."""
    # VALIDATE
    check_form(wanted)
    if wanted.resource_type != TOPIC:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "This broker takes its own configuration when it starts; restart it with another one.",
        )
    problem = problem_with(wanted.resource_name)
    if problem is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = broker.image.topics.get(wanted.resource_name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    changes = {row.name: changed(topic, row) for row in wanted.configs}
    after = {**topic.configs, **changes}
    try:
        check_topic_configs({name: value for name, value in after.items() if value is not None})
    except BadConfig as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
    # DEDUPLICATE: what has that value already needs no record.
    records = [
        topic_config(topic.name, name, value)
        for name, value in changes.items()
        if topic.configs.get(name) != value
    ]
    # APPLY
    if records and not request.body.validate_only:
        broker.publish_configs(topic, records)


def check_form(wanted: Struct) -> None:
    """What can be wrong with any resource (ConfigAdminManager.java); raises Refused."""
    names = [row.name for row in wanted.configs]
    if len(set(names)) != len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    for row in wanted.configs:
        if row.config_operation not in OPERATIONS:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"Unknown operation type {row.config_operation}"
            )
        if row.value is None and row.config_operation != DELETE:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {row.name}")


def changed(topic: TopicImage, row: Struct) -> str | None:
    """The override after this operation, or None for none (ConfigurationControlManager.java)."""
    if row.config_operation == DELETE:
        return None
    value: str = row.value
    if row.config_operation == SET:
        return value
    key = TOPIC_CONFIGS.get(row.name)
    if key is None or key.type is not ConfigType.LIST:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Can't {OPERATIONS[row.config_operation]} to key {row.name} because its type is not"
            " LIST.",
        )
    items = split_list(topic.configs.get(row.name, key.default or ""))
    named = split_list(value)
    if row.config_operation == APPEND:
        items += [item for item in named if item not in items]
    else:
        items = [item for item in items if item not in named]
    return ",".join(items)
