"""An image writes itself as records, which give the same image again; each part has its writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from reference_impl.core.controller.image.client_quotas import entity_of, quota_record
from reference_impl.core.controller.image.image_records import (
    DERIVED,
    IDENTITY,
    WRITERS,
    changes_to,
    records_of,
)
from reference_impl.core.controller.image.metadata_delta import MetadataDelta
from reference_impl.core.controller.image.metadata_image import (
    _ACTIONS,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from reference_impl.core.controller.image.scram_users import set_record
from reference_impl.core.controller.records import config_record, new_topic
from reference_impl.core.security.sasl.scram import Credential
from reference_impl.wire import Struct, decode_metadata_record, definition, encode_metadata_record
from reference_impl.wire.acls import AclOperation, AclPermissionType, PatternType, ResourceType

PLAIN, OTHER = UUID(int=1), UUID(int=2)
REGISTER, CONTROLLER = (definition(f"Register{who}Record") for who in ("Broker", "Controller"))


def everything() -> list[Struct]:
    """Return records with something of every part, and no field at its default."""
    return [
        *(definition("FeatureLevelRecord").new(name=f, feature_level=1) for f in ("a", "b")),
        definition("FeatureLevelRecord").new(name="metadata.version", feature_level=30),
        broker(1),
        broker(2),
        controller(),
        new_topic("plain", PLAIN),
        new_topic("an.other", OTHER),
        *(partition(PLAIN, index) for index in range(2)),
        partition(OTHER, 0),
        config_record(TOPIC_RESOURCE, "plain", "segment.ms", "60000"),
        config_record(TOPIC_RESOURCE, "plain", "retention.ms", "7"),
        config_record(BROKER_RESOURCE, "", "min.insync.replicas", "1"),
        config_record(BROKER_RESOURCE, "1", "log.segment.bytes", "9999999"),
        config_record(GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "50000"),
        config_record(CLIENT_METRICS_RESOURCE, "m", "interval.ms", "1000"),
        quota_record(entity_of({"user": "u", "client-id": None}), "producer_byte_rate", 5.5),
        quota_record(entity_of({"user": "u"}), "request_percentage", 50.0),
        definition("ProducerIdsRecord").new(broker_id=1, broker_epoch=3, next_producer_id=2000),
        acl(1, PatternType.LITERAL),
        acl(2, PatternType.PREFIXED),
        set_record("alice", 1, Credential(b"salt", 4096, b"stored", b"server")),
        set_record("alice", 2, Credential(b"s", 8192, b"t", b"u")),
        token("t1"),
        token("t2"),
    ]


def broker(node_id: int) -> Struct:
    return REGISTER.new(
        broker_id=node_id,
        incarnation_id=UUID(int=50 + node_id),
        broker_epoch=10 + node_id,
        end_points=[
            REGISTER.struct("BrokerEndpoint", name="TLS", host="b", port=9093, security_protocol=1)
        ],
        features=[
            REGISTER.struct(
                "BrokerFeature", name="f", min_supported_version=1, max_supported_version=3
            )
        ],
        rack="r",
        fenced=False,
        in_controlled_shutdown=True,
        log_dirs=[UUID(int=100), UUID(int=101)],
        cordoned_log_dirs=[UUID(int=101)],
    )


def controller() -> Struct:
    return CONTROLLER.new(
        controller_id=1,
        incarnation_id=UUID(int=51),
        end_points=[
            CONTROLLER.struct(
                "ControllerEndpoint", name="C", host="c", port=9094, security_protocol=2
            )
        ],
        features=[
            CONTROLLER.struct(
                "ControllerFeature", name="f", min_supported_version=1, max_supported_version=3
            )
        ],
    )


def partition(topic_id: UUID, index: int) -> Struct:
    return definition("PartitionRecord").new(
        partition_id=index,
        topic_id=topic_id,
        replicas=[1, 2, 3],
        isr=[2],
        adding_replicas=[3],
        removing_replicas=[1],
        leader=2,
        leader_recovery_state=1,
        leader_epoch=4,
        partition_epoch=9,
        directories=[UUID(int=100), UUID(int=100), UUID(int=0)],
        eligible_leader_replicas=[1],
        last_known_elr=[3],
    )


def acl(number: int, pattern: PatternType) -> Struct:
    return definition("AccessControlEntryRecord").new(
        id=UUID(int=number),
        resource_type=ResourceType.TOPIC,
        resource_name="a",
        pattern_type=pattern,
        principal="User:u",
        host="*",
        operation=AclOperation.READ,
        permission_type=AclPermissionType.ALLOW,
    )


def token(token_id: str) -> Struct:
    return definition("DelegationTokenRecord").new(
        owner="User:o",
        requester="User:r",
        renewers=["User:n"],
        issue_timestamp=1,
        max_timestamp=3,
        expiration_timestamp=2,
        token_id=token_id,
    )


def image_of(records: list[Struct]) -> MetadataImage:
    delta = MetadataDelta(MetadataImage())
    delta.apply(records, len(records))
    return delta.image


def state(thing: Any) -> Any:
    """Return everything that a part of an image knows, in a form that can be compared."""
    if isinstance(thing, Mapping):
        # An index keeps an empty row where all entries are gone.
        return sorted((repr(state(k)), state(v)) for k, v in thing.items() if v or v == 0)
    if isinstance(thing, list | tuple):
        return [state(each) for each in thing]
    if isinstance(thing, set | frozenset):
        return sorted(repr(state(each)) for each in thing)
    if is_dataclass(thing):
        return {field.name: state(getattr(thing, field.name)) for field in fields(thing)}
    if hasattr(thing, "__dict__") and not isinstance(thing, Enum):
        return {name: state(v) for name, v in vars(thing).items() if name not in _OF_PROCESS}
    return repr(thing)


_OF_PROCESS = {"end_offset", "newest_topic_offset", "version"}


def test_each_part_of_an_image_has_a_writer_or_follows_from_others() -> None:
    parts = {name for name in WRITERS if " " not in name}
    assert not parts & DERIVED.keys()
    assert vars(MetadataImage()).keys() == parts | DERIVED.keys()


def test_the_image_of_this_test_has_something_of_everything() -> None:
    """Otherwise the tests below would not notice a field that no writer knows."""
    image = image_of(everything())
    empty = MetadataImage()
    for name in vars(image).keys() - DERIVED.keys():
        assert state(getattr(image, name)) != state(getattr(empty, name)), name
    things: list[Any] = [
        image.topics["plain"].partitions[0],
        image.brokers[1],
        image.controllers[1],
    ]
    for thing in things:
        for field in fields(thing):
            default = field.default
            if field.default_factory is not MISSING:
                default = field.default_factory()
            assert getattr(thing, field.name) != default, field.name


def test_the_records_of_an_image_give_the_same_image_again() -> None:
    image = image_of(everything())
    written = [encode_metadata_record(record) for record in records_of(image)]
    read = [decode_metadata_record(data)[1] for data in written]
    assert state(image_of(read)) == state(image)


def test_metadata_version_comes_first() -> None:
    first = next(records_of(image_of(everything())))
    assert (first.name, first.feature_level) == ("metadata.version", 30)


@pytest.mark.parametrize("left_out", range(len(everything())))
def test_an_image_becomes_another_by_the_records_of_that_one(left_out: int) -> None:
    """Each thing is missing once in the older image, and once in the newer one."""
    some = everything()
    gone = some.pop(left_out)
    if type(gone).__name__ == "TopicRecord":
        of_topic = [r for r in some if r.__class__.__name__ == "PartitionRecord"]
        some = [r for r in some if r not in of_topic or r.topic_id != gone.topic_id]
        some = [r for r in some if getattr(r, "resource_name", "") != gone.name]
    for before, after in ((some, everything()), (everything(), some)):
        if before is not some and IDENTITY[type(gone).__name__][1] is None:
            continue  # no record removes it: no later image of the same cluster lacks it
        image, expected = image_of(before), image_of(after)
        delta = MetadataDelta(image)
        delta.apply(list(records_of(expected)), 99, is_snapshot=True)
        assert state(image) == state(expected)
        assert image.end_offset == 99


def test_a_topic_that_stays_is_the_same_object() -> None:
    image = image_of(everything())
    topic = image.topics["plain"]
    delta = MetadataDelta(image)
    delta.apply(list(records_of(image_of(everything()))), 99, is_snapshot=True)
    assert image.topics["plain"] is topic
    assert not delta.new_topics


def test_a_configuration_that_is_gone_is_noted_as_changed() -> None:
    image = image_of(everything())
    records = [r for r in everything() if getattr(r, "name", "") != "segment.ms"]
    delta = MetadataDelta(image)
    delta.apply(list(records_of(image_of(records))), 99, is_snapshot=True)
    assert (TOPIC_RESOURCE, "plain") in delta.configs
    assert changes_to(image, list(records_of(image)))[0].name == "metadata.version"


def test_every_record_that_an_image_writes_is_applied_and_can_be_told_apart() -> None:
    kinds = {type(record).__name__ for record in records_of(image_of(everything()))}
    assert kinds == IDENTITY.keys()
    assert kinds <= _ACTIONS.keys()
