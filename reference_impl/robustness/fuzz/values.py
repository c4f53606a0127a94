"""Choose values for fields: names that all cases share, and values from the broker's responses.

A purely random request never gets past the first check of its handler. So most fields have a small
table of interesting values, the others are drawn by type, and responses are remembered: the member
id of a JoinGroup is used in the next SyncGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any
from uuid import UUID

from reference_impl.core.configs.topic import TOPIC_CONFIGS
from reference_impl.robustness.fuzz.batches import Batches
from reference_impl.robustness.fuzz.chance import BY_CHANCE
from reference_impl.wire import ZERO_UUID, Struct, definition
from reference_impl.wire.codec.fields import Field, StructType

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
TOPICS = tuple(f"fuzz-{number}" for number in range(8))
ODD_TOPICS = (
    "",
    ".",
    "..",
    "fuzz.dot",
    "fuzz_dot",
    "a" * 249,
    "a" * 250,
    "no/slash",
    "héé",
    "a b",
    "__consumer_offsets",
    "__transaction_state",
    "__cluster_metadata",
)
GROUPS = ("group-1", "group-2", "group-3", "group-4", "", "a" * 300)
TRANSACTIONAL_IDS = (*["txn-1", "txn-2", "txn-3"] * 2, "", None)
INSTANCES = (*[None] * 9, "instance-1", "instance-2", "")
CONFIG_VALUES: dict[str, tuple[str | None, ...]] = {
    "cleanup.policy": ("compact", "delete", "compact,delete", "", "neither"),
    "compression.type": ("gzip", "zstd", "lz4", "snappy", "uncompressed", "producer", "rar"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": ("0", "0.01", "1", "NaN", "2"),
    "internal.segment.bytes": ("1", "61", "1000", "100000"),
    "segment.bytes": ("1048576", "1073741824", "1"),
}
ANY_CONFIG_VALUE = (
    "0",
    "1",
    "-1",
    "-2",
    "100",
    "60000",
    str(INT_MAX),
    str(LONG_MAX),
    "",
    "true",
    "false",
    "1e9",
    "9" * 40,
    None,
)
PATTERNS = ("fuzz-.*", "", "(", "[", "(a+)+$", "(.*)*x", "\\1", "fuzz-[0-3]", "a{1,1000}{1,1000}")

STRANGERS = 77, 1077, -1, INT_MAX

# By "Struct.field" or "field"; the first that is found counts.
TABLE: dict[str, Sequence[Any]] = {
    "acks": (-1, -1, 1, 0, 2),
    "allow_auto_topic_creation": (True, False),
    "assignors": ("uniform", "range", "none"),
    "broker_id": STRANGERS,
    "broker_ids": (1, 1, 1, 0, 2),
    "controller_id": STRANGERS,
    "config_operation": (0, 0, 1, 2, 3, 4),
    "count": (1, 2, 3, 4, 6, 0, -1, 100_000),
    "current_leader_epoch": (-1, -1, -1, 0, 1, INT_MAX),
    "entity_name": ("fuzz-user", "fuzz-client"),
    "entity_type": ("user", "client-id", "ip", "fuzz"),
    "enable2_pc": (False, False, False, True),
    "fetch_offset": (0, 0, 1, 2, 5, 100, -1, LONG_MAX),
    "generation_id": (0, 1, 2, 3, -1),
    "generation_id_or_member_epoch": (-1, -1, 0, 1, 2),
    "group_id": GROUPS,
    "group_ids": GROUPS,
    "group_instance_id": INSTANCES,
    "groups": GROUPS,
    "groups_names": GROUPS,
    "index": (0, 0, 0, 1, 2, -1, 50),
    "instance_id": INSTANCES,
    "isolation_level": (0, 1, 1, 2),
    "key_type": (0, 1, 2, -1),
    "leader_epoch": (0, 1, 2, -1, INT_MAX),
    "InitProducerIdRequest.producer_epoch": (-1, -1, -1, 0),
    "InitProducerIdRequest.producer_id": (-1, -1, -1, 0),
    "last_fetched_epoch": (-1, -1, 0, 1, INT_MAX),
    "max_bytes": (1, 100, 1 << 20, 50 << 20, INT_MAX, 0, -1),
    "max_wait_ms": (0, 0, 1, 20, -1, INT_MAX),
    "min_bytes": (0, 1, 1, 1000, INT_MAX, -1),
    "member_epoch": (0, 0, 1, 2, -1, -2, INT_MAX),
    "member_id": ("", "", "nobody", "x" * 300),
    "num_partitions": (1, 1, 2, 3, -1, 0, -2, 100_000),
    "offset": (0, 1, 2, -1, -2, LONG_MAX),
    "partition": (0, 0, 0, 1, 2, -1, 50),
    "partition_index": (0, 0, 0, 1, 2, -1, 50),
    "partition_indexes": (0, 0, 0, 1, 2, -1, 50),
    "partition_max_bytes": (1, 100, 1 << 20, INT_MAX, 0, -1),
    "partitions": (0, 0, 0, 1, 2, -1, 50),
    "producer_epoch": (0, 0, 1, 2, -1),
    "producer_id": (0, 1, 2, 1000, -1),
    "protocol_name": ("range", "roundrobin", None),
    "protocol_type": (*["consumer"] * 8, "connect", "", None),
    "JoinGroupRequestProtocol.name": ("range", "range", "range", "roundrobin", "sticky", ""),
    "replica_id": (-1, -1, -1, -2, 1, 0),
    "replicas": (1, 1, 1, 0, 2),
    "replication_factor": (1, 1, -1, 0, 2),
    "rebalance_timeout_ms": (100, 1000, 1000, 6000, 0, -1, INT_MAX),
    "resource_name": (*TOPICS, "1", "", "2", "group-1"),
    "resource_type": (2, 2, 4, 8, 16, 32, 0, 1),
    "resource_types": (2, 4, 8, 16, 32, 0),
    "server_assignor": ("uniform", "range", None, "none"),
    "session_epoch": (-1, -1, 0, 0, 1, 2, INT_MAX),
    "session_id": (0, 0, 0, 0, 1, -1),
    "session_timeout_ms": (100, *[1000, 6000] * 5, 0, -1, INT_MAX),
    "subscribed_topic_regex": (None, None, *PATTERNS),
    "timeout_ms": (0, 100, 1000, 30_000, -1, INT_MAX),
    "timestamp": (-1, -2, -3, -4, -5, -6, 0, 1_700_000_000_000, LONG_MAX),
    "transaction_timeout_ms": (*[1000, 5000, 60_000] * 4, 0, -1, INT_MAX),
    "transactional_id": TRANSACTIONAL_IDS,
    "transactional_id_pattern": (None, *PATTERNS),
    "transactional_ids": ("txn-1", "txn-2", "txn-3", ""),
    "v3_and_below_transactional_id": TRANSACTIONAL_IDS,
    "verify_only": (False, False, True),
}
TOPIC_FIELDS = frozenset(
    {"TopicProduceData.name", "FetchTopic.topic", "ForgottenTopic.topic", "topic", "topic_name"}
    | {"topic_names", "subscribed_topic_names", "name"}
)
ALWAYS = frozenset({"entity_name", "config_operation", "broker_id", "controller_id"})
"""Fields that are never chosen at random: a quota for everybody would slow down the well-behaved
client, and a broker that is fenced or unregistered no longer serves it, as on Apache Kafka."""
REMEMBERED = frozenset(
    {"member_id", "generation_id", "member_epoch", "producer_id", "producer_epoch", "session_id"}
    | {"topic_id", "leader_epoch", "current_leader_epoch", "group_instance_id"}
)
SAME_AS = {
    "generation_id_or_member_epoch": "generation_id",
    "v3_and_below_producer_id": "producer_id",
    "v3_and_below_producer_epoch": "producer_epoch",
    "v3_and_below_transactional_id": "transactional_id",
    "instance_id": "group_instance_id",
}


class Values:
    """Chooses the values of the fields of one case's requests, and remembers those of its
    responses."""

    def __init__(self, random: Random, topic_ids: dict[str, UUID], spared: frozenset[UUID]) -> None:
        self.random = random
        self.plausibility = random.choice((1.0, 1.0, 0.97, 0.9, 0.6, 0.0))
        """The probability that a field's value is drawn from the tables."""
        self._spared = spared
        """The topic ids that no request may contain: those of the well-behaved client."""
        self._config_name = ""
        self._batches = Batches(random)
        self._topics = random.sample(TOPICS, random.choice((1, 2, len(TOPICS))))
        ids = [topic_ids[name] for name in self._topics if name in topic_ids]
        self._known: dict[str, list[Any]] = {"topic_id": ids}
        # A case that keeps to one group and one transactional id gets further with them.
        self._favourites = {
            "group_id": random.choice(GROUPS[:4]),
            "transactional_id": random.choice(TRANSACTIONAL_IDS[:3]),
        }

    def choose(self, struct: StructType, field: Field) -> Any:
        """Choose the value of a field, or return BY_CHANCE to have it drawn by type (see
        `chance.message`)."""
        if field.struct is not None:
            return BY_CHANCE
        name = field.name
        if name not in ALWAYS and self.random.random() >= self.plausibility:
            return BY_CHANCE
        if name in ("configs", "value", "configuration_keys") or struct.name in CONFIG_STRUCTS:
            return self._config(field)
        own = f"{struct.name}.{name}"
        if own not in TABLE and self.random.random() < 0.8:
            name = SAME_AS.get(name, name)
            if known := self._known.get(name):
                return self.random.choice(known[-3:])
            if name in self._favourites:
                return self._favourites[name]
        for key in (own, field.name):
            if key in TABLE:
                return self.random.choice(TABLE[key])
            if key in TOPIC_FIELDS and field.type == "string":
                return self._topic()
        return self._by_type(field)

    def learn(self, answer: Struct) -> None:
        """Remember values of a response for later requests of this case."""
        for name in answer._names:
            value = getattr(answer, name)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Struct):
                    self.learn(one)
                elif name in REMEMBERED and one not in (None, "", -1, ZERO_UUID, *self._spared):
                    self._known.setdefault(name, []).append(one)

    def _topic(self) -> str:
        return self.random.choice(ODD_TOPICS if self.random.random() < 0.1 else self._topics)

    def _config(self, field: Field) -> Any:
        """Choose a configuration's name, or a value that may suit the name chosen before. Return
        BY_CHANCE for a field that is neither."""
        if field.name in ("name", "configuration_keys"):
            names = (*TOPIC_CONFIGS, "internal.segment.bytes", "no.such.key")
            self._config_name = self.random.choice(names)
            return self._config_name
        if field.name == "value" and field.type == "string":
            return self.random.choice(CONFIG_VALUES.get(self._config_name, ANY_CONFIG_VALUE))
        if field.name in TABLE:
            return self.random.choice(TABLE[field.name])
        return BY_CHANCE

    def _by_type(self, field: Field) -> Any:
        if field.type == "records":
            ids, epochs = (self._known.get(name, []) for name in ("producer_id", "producer_epoch"))
            self._batches.producers = list(zip(ids, epochs, strict=False))
            return self._batches.draw()
        if field.type == "uuid":
            return ZERO_UUID
        if field.type == "bytes":
            return self.random.choice(BYTES)()
        return BY_CHANCE


CONFIG_STRUCTS = frozenset({"AlterableConfig", "CreatableTopicConfig", "AlterConfigsResource"})


def _subscription() -> bytes:
    of = definition("ConsumerProtocolSubscription")
    message = of.new(topics=list(TOPICS[:2]), user_data=None, owned_partitions=[])
    return b"\0\1" + of.encode(message, 1)


BYTES: tuple[Callable[[], bytes], ...] = (
    _subscription,
    bytes,
    lambda: b"\0\1\x7f\xff\xff\xff",
    lambda: b"\0user\0password",
    lambda: b"n,,n=user,r=nonce",
)
