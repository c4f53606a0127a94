"""Check changes of configurations, and write the records that make them.

Source: ConfigAdminManager.java (form, brokers), ConfigurationControlManager.java (topics, records),
KIP-226 (brokers). AlterConfigs and IncrementalAlterConfigs differ only in the way in which they
state the new configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reference_impl.core.configs.broker import KNOWN_CONFIGS
from reference_impl.core.configs.client_metrics import MATCH, check_client_metrics
from reference_impl.core.configs.dynamic import (
    ALL_BROKERS,
    MIN_INSYNC_REPLICAS,
    check_dynamic,
    config_in_force,
)
from reference_impl.core.configs.group import check_group_configs
from reference_impl.core.configs.keys import BadConfig, ConfigKey
from reference_impl.core.configs.topic import TOPIC_CONFIGS, check_topic_configs
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import ELIGIBLE_REPLICAS
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from reference_impl.core.controller.image.topic_names import problem_with
from reference_impl.core.controller.records import config_record
from reference_impl.core.refused import Refused
from reference_impl.core.requests.role import Role
from reference_impl.wire import STRING_BYTES_MAX, ErrorCode, Struct, definition

ID_DIGITS_MAX = 10
"""The digits of a 32-bit number."""


@dataclass(frozen=True)
class Configured:
    """A resource whose configuration may be changed, and what is set for it now."""

    resource_type: int
    name: str
    overrides: Mapping[str, str]
    lists: Mapping[str, ConfigKey]
    """Key -> definition, for keys whose values are lists, which APPEND and SUBTRACT may change
    (KafkaConfigSchema.java: only keys of topics and brokers)."""
    check: Callable[[Mapping[str, str]], None]
    """A function that raises BadConfig unless the resource may have these overrides."""
    code_of_bad_value: ErrorCode


def find_configured(role: Role, resource_type: int, name: str) -> Configured:
    """Return the resource of this type and name. Raise Refused if the type is unknown, the name is
    not valid, or there is no such topic; the other resources need not exist."""
    find = _FINDERS.get(resource_type)
    if find is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")
    return find(role, name)


def change_to(
    controller: Controller, resource: Configured, after: Mapping[str, str], *, validate_only: bool
) -> None:
    """Replace all overrides of the resource by `after`: write a record for each one that differs,
    and if a change of min.insync.replicas ends the ELRs, one that empties them. With validate_only,
    write nothing. Raise Refused, and write nothing, if an override is invalid."""
    # VALIDATE
    _check_lengths(after)
    try:
        resource.check(after)
    except BadConfig as error:
        raise Refused(resource.code_of_bad_value, str(error)) from None
    # DEDUPLICATE: what has that value already needs no record.
    before = resource.overrides
    if resource.resource_type == BROKER_RESOURCE:
        check_min_insync_replicas(controller, resource, after)
    records = [
        config_record(resource.resource_type, resource.name, key, after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]
    minimum = before.get(MIN_INSYNC_REPLICAS), after.get(MIN_INSYNC_REPLICAS)
    if _has_elr(controller) and controller.rules.forgets_eligible_replicas(*minimum):
        records.append(cleared_elr(resource))
    # APPLY
    if records and not validate_only:
        controller.write(records)


def cleared_elr(resource: Configured) -> Struct:
    """Return the record that empties the ELRs of the topic, or of all topics if the resource is not
    a topic."""
    name = resource.name if resource.resource_type == TOPIC_RESOURCE else ""
    return definition("ClearElrRecord").new(topic_name=name)


def _check_lengths(overrides: Mapping[str, str]) -> None:
    """Raise Refused for a value that no record or answer can hold; APPEND makes such values."""
    for value in overrides.values():
        if len(value.encode()) > STRING_BYTES_MAX:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                "The configuration value cannot be added because it exceeds the maximum value size"
                f" of {STRING_BYTES_MAX} bytes.",
            )


def _has_elr(controller: Controller) -> bool:
    return controller.image.features.get(ELIGIBLE_REPLICAS, 0) > 0


def check_min_insync_replicas(
    controller: Controller, broker: Configured, after: Mapping[str, str]
) -> None:
    """Raise Refused if a broker's own min.insync.replicas would change, or the cluster's would be
    removed, so that brokers would have different values. Accept both without eligible leader
    replicas.

    With them it belongs to the cluster, whose controller uses it to decide which replicas may lead
    (KIP-966).
    """
    before = broker.overrides.get(MIN_INSYNC_REPLICAS)
    changed = before != after.get(MIN_INSYNC_REPLICAS)
    if not changed or not _has_elr(controller):
        return
    if broker.name != ALL_BROKERS:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled.",
        )
    if MIN_INSYNC_REPLICAS not in after:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.",
        )


def _topic(role: Role, name: str) -> Configured:
    problem = problem_with(name)
    if problem is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    topic = role.image.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return Configured(
        TOPIC_RESOURCE,
        name,
        topic.configs,
        TOPIC_CONFIGS,
        lambda overrides: check_topic_configs(overrides, role.config.topic_defaults),
        ErrorCode.INVALID_CONFIG,
    )


def _broker(role: Role, name: str) -> Configured:
    config = role.config
    if name != ALL_BROKERS:
        config = config_in_force(role.started_with, role.image, node_id_in(name))
    return Configured(
        BROKER_RESOURCE,
        name,
        role.image.configs_of_broker(name),
        KNOWN_CONFIGS,
        lambda overrides: check_dynamic(overrides, config),
        ErrorCode.INVALID_REQUEST,  # not INVALID_CONFIG, for compatibility (KAFKA-13609)
    )


def _group(role: Role, name: str) -> Configured:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    return Configured(
        GROUP_RESOURCE,
        name,
        role.image.group_configs.get(name, {}),
        {},
        lambda overrides: check_group_configs(role.config, overrides),
        ErrorCode.INVALID_CONFIG,
    )


def _client_metrics(role: Role, name: str) -> Configured:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    before = role.image.client_metrics.get(name, {})
    others = role.image.match_characters - len(before.get(MATCH, ""))
    return Configured(
        CLIENT_METRICS_RESOURCE,
        name,
        before,
        {},
        lambda overrides: check_client_metrics(overrides, others),
        ErrorCode.INVALID_CONFIG,
    )


def node_id_in(name: str) -> int:
    """Return the node id that is the name of a broker's resource. Raise Refused if the name is not
    a decimal number of at most ID_DIGITS_MAX digits."""
    if not name.isdecimal() or len(name) > ID_DIGITS_MAX:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    return int(name)


def check_own_id(node_id: int, name: str) -> None:
    """Raise Refused unless the name of a broker's resource stands for all brokers, or for the
    broker that received the request: it alone knows all of its own configuration."""
    if name != ALL_BROKERS and node_id_in(name) != node_id:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}",
        )


def check_node_exists(controller: Controller, name: str) -> None:
    """Raise Refused unless the name of a broker's resource stands for all brokers or a node that
    has registered (QuorumController.ConfigResourceExistenceChecker)."""
    if name == ALL_BROKERS:
        return
    node_id, image = node_id_in(name), controller.image
    if node_id not in image.brokers and node_id not in image.controllers:
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {node_id} found.")


_FINDERS: dict[int, Callable[[Role, str], Configured]] = {
    TOPIC_RESOURCE: _topic,
    BROKER_RESOURCE: _broker,
    CLIENT_METRICS_RESOURCE: _client_metrics,
    GROUP_RESOURCE: _group,
}
