"""The configuration keys of a broker, and their values as the core uses them.

Source: AbstractKafkaConfig.java and what it gathers (ServerLogConfigs, GroupCoordinatorConfig,
SocketServerConfigs, ReplicationConfigs, ServerConfigs), Kafka 4.3. The table has the keys that this
broker obeys, and common keys that it may ignore because they only set the sizes of threads and
buffers that it does not have (IGNORED).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from reference_impl.core.configs.cluster import OF_CLUSTER, Membership, access_of, membership_of
from reference_impl.core.configs.idle import WITHOUT_EFFECT
from reference_impl.core.configs.keys import (
    INT_MAX,
    LONG_MAX,
    SECRETS,
    BadConfig,
    ConfigKey,
    ConfigType,
    check_all,
    split_list,
    table,
)
from reference_impl.core.configs.topic import TOPIC_CONFIGS, defaults_from
from reference_impl.core.log.directories.cordoned import CORDONED, check_cordoned
from reference_impl.core.security.listener_settings import OF_LISTENERS, PREFIX
from reference_impl.core.security.listeners import PROTOCOLS, Listener, listeners_of
from reference_impl.core.security.peer_access import AccessToPeers
from reference_impl.wire import STRING_BYTES_MAX

_B, _S, _I, _L = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_SHORT, _LIST = ConfigType.SHORT, ConfigType.LIST

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""Kafka's own authorizer, which keeps ACLs in the metadata log (KIP-801)."""

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Kafka's own selector of replicas, which sends a consumer to a follower in its rack (KIP-392)."""
_SELECTORS = (RACK_AWARE, "org.apache.kafka.common.replica.LeaderSelector")

_EACH_ITSELF = ",".join(f"{protocol}:{protocol}" for protocol in PROTOCOLS)
"""The protocol of each listener unless it is configured: the one that has the listener's name."""

_OBEYED = (
    ConfigKey("add.partitions.to.txn.retry.backoff.max.ms", _I, "100", 0),
    ConfigKey("add.partitions.to.txn.retry.backoff.ms", _I, "20", 1),
    ConfigKey("advertised.listeners", _LIST, None),
    ConfigKey("allow.everyone.if.no.acl.found", _B, "false"),
    ConfigKey("authorizer.class.name", _S, "", one_of=("", STANDARD_AUTHORIZER)),
    ConfigKey("auto.create.topics.enable", _B, "true"),
    ConfigKey("auto.leader.rebalance.enable", _B, "true"),
    ConfigKey("broker.rack", _S, None),
    ConfigKey("connections.max.idle.ms", _L, "600000"),
    ConfigKey(CORDONED, _LIST, ""),
    ConfigKey("default.replication.factor", _I, "1"),
    ConfigKey("delegation.token.expiry.check.interval.ms", _L, "3600000", 1),
    ConfigKey("delegation.token.expiry.time.ms", _L, "86400000", 1),
    ConfigKey("delegation.token.max.lifetime.ms", _L, "604800000", 1),
    ConfigKey("delegation.token.secret.key", ConfigType.PASSWORD, None),
    ConfigKey("delete.topic.enable", _B, "true"),
    ConfigKey("leader.imbalance.check.interval.seconds", _L, "300", 1),
    ConfigKey("fetch.max.bytes", _I, str(55 * 1024 * 1024), 1024),
    ConfigKey("group.consumer.assignment.interval.ms", _I, "1000", 0),
    ConfigKey("group.consumer.assignors", _LIST, "uniform,range", one_of=("uniform", "range")),
    ConfigKey("group.consumer.heartbeat.interval.ms", _I, "5000", 1),
    ConfigKey("group.consumer.max.assignment.interval.ms", _I, "15000", 0),
    ConfigKey("group.consumer.max.heartbeat.interval.ms", _I, "15000", 1),
    ConfigKey("group.consumer.max.session.timeout.ms", _I, "60000", 1),
    ConfigKey("group.consumer.max.size", _I, str(INT_MAX), 1),
    ConfigKey(
        "group.consumer.migration.policy",
        _S,
        "bidirectional",
        one_of=("disabled", "upgrade", "downgrade", "bidirectional"),
    ),
    ConfigKey("group.consumer.min.assignment.interval.ms", _I, "0", 0),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", _I, "5000", 1),
    ConfigKey("group.consumer.min.session.timeout.ms", _I, "45000", 1),
    ConfigKey("group.consumer.regex.refresh.interval.ms", _I, "600000", 10000),
    ConfigKey("group.consumer.session.timeout.ms", _I, "45000", 1),
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        _LIST,
        "classic,consumer,streams",
        one_of=("classic", "consumer", "streams"),
    ),
    ConfigKey("group.initial.rebalance.delay.ms", _I, "3000"),
    ConfigKey("group.max.session.timeout.ms", _I, "1800000"),
    ConfigKey("group.max.size", _I, str(INT_MAX), 1),
    ConfigKey("group.min.session.timeout.ms", _I, "6000"),
    ConfigKey("listener.security.protocol.map", _S, _EACH_ITSELF),
    ConfigKey("listeners", _LIST, "PLAINTEXT://:9092"),
    ConfigKey("log.dirs", _LIST, None),
    ConfigKey("log.cleaner.backoff.ms", _L, "15000", 0),
    ConfigKey("log.cleaner.dedupe.buffer.size", _L, "134217728"),
    ConfigKey("log.cleaner.enable", _B, "true"),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", _I, "60000", 0),
    ConfigKey("log.flush.scheduler.interval.ms", _L, str(LONG_MAX)),
    ConfigKey("log.initial.task.delay.ms", _L, "30000", 0),
    ConfigKey("log.retention.check.interval.ms", _L, "300000", 1),
    ConfigKey("max.connection.creation.rate", _I, str(INT_MAX), 0),
    ConfigKey("max.connections", _I, str(INT_MAX), 0),
    ConfigKey("max.connections.per.ip", _I, str(INT_MAX), 0),
    ConfigKey("max.connections.per.ip.overrides", _S, ""),
    ConfigKey("max.incremental.fetch.session.cache.slots", _I, "1000", 0),
    ConfigKey("max.request.partition.size.limit", _I, "2000", 1),
    ConfigKey("metadata.log.max.record.bytes.between.snapshots", _L, "20971520", 1),
    ConfigKey("metadata.log.max.snapshot.interval.ms", _L, "3600000", 0),
    ConfigKey("metadata.log.segment.bytes", _I, "1073741824", 8 << 20),
    ConfigKey("metadata.log.segment.ms", _L, "604800000"),
    ConfigKey("metadata.max.idle.interval.ms", _I, "500", 0),
    ConfigKey("metadata.max.retention.bytes", _L, "104857600"),
    ConfigKey("metadata.max.retention.ms", _L, "604800000"),
    ConfigKey("num.partitions", _I, "1", 1),
    ConfigKey("offset.metadata.max.bytes", _I, "4096"),
    ConfigKey("offsets.commit.timeout.ms", _I, "5000", 1),
    ConfigKey("offsets.retention.check.interval.ms", _L, "600000", 1),
    ConfigKey("offsets.retention.minutes", _I, "10080", 1),
    ConfigKey("offsets.topic.compression.codec", _I, "0", 0, 0),
    ConfigKey("offsets.topic.num.partitions", _I, "50", 1),
    ConfigKey("offsets.topic.replication.factor", _SHORT, "3", 1),
    ConfigKey("offsets.topic.segment.bytes", _I, "104857600", 1),
    ConfigKey("producer.id.expiration.check.interval.ms", _I, "600000", 1),
    ConfigKey("producer.id.expiration.ms", _I, "86400000", 1),
    ConfigKey("queued.max.request.bytes", _L, "-1"),
    ConfigKey("quota.window.num", _I, "11", 1),
    ConfigKey("quota.window.size.seconds", _I, "1", 1),
    ConfigKey("replica.selector.class", _S, None, one_of=_SELECTORS),
    ConfigKey("replication.quota.window.num", _I, "11", 1),
    ConfigKey("replication.quota.window.size.seconds", _I, "1", 1),
    ConfigKey("request.timeout.ms", _I, "30000"),
    ConfigKey("socket.receive.buffer.bytes", _I, "102400"),
    ConfigKey("socket.request.max.bytes", _I, "104857600", 1),
    ConfigKey("socket.send.buffer.bytes", _I, "102400"),
    ConfigKey("super.users", _S, ""),
    ConfigKey("telemetry.max.bytes", _I, "1048576", 1),
    ConfigKey("transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, "10000", 1),
    ConfigKey("transaction.max.timeout.ms", _I, "900000", 1),
    ConfigKey("transaction.partition.verification.enable", _B, "true"),
    ConfigKey("transaction.remove.expired.transaction.cleanup.interval.ms", _I, "3600000", 1),
    ConfigKey("transaction.state.log.min.isr", _I, "2", 1),
    ConfigKey("transaction.state.log.num.partitions", _I, "50", 1),
    ConfigKey("transaction.state.log.replication.factor", _SHORT, "3", 1),
    ConfigKey("transaction.state.log.segment.bytes", _I, "104857600", 1),
    ConfigKey("transactional.id.expiration.ms", _I, "604800000", 1),
    ConfigKey("unclean.leader.election.interval.ms", _L, "300000", 1),
)

_WITHOUT_DEFAULT = (
    "log.flush.interval.ms",
    "log.retention.ms",
    "log.roll.jitter.ms",
    "log.roll.ms",
)
"""Keys without a default: if they are not given, a key with a coarser unit decides."""

_FOR_TOPICS = tuple(
    ConfigKey(
        key.synonym,
        key.type,
        None if key.synonym in _WITHOUT_DEFAULT else key.default,
        key.at_least,
        key.at_most,
        key.one_of,
    )
    for key in TOPIC_CONFIGS.values()
    if key.synonym is not None
)

_COARSER = (
    ConfigKey("log.retention.hours", _I, "168"),
    ConfigKey("log.retention.minutes", _I, None),
    ConfigKey("log.roll.hours", _I, "168", 1),
    ConfigKey("log.roll.jitter.hours", _I, "0", 0),
)

# Accepted and checked, but without effect: they size what a broker with one thread lacks. (The
# exception is log.dir, which the host reads.)
IGNORED = (
    ConfigKey("group.consumer.assignor.offload.enable", _B, "true"),
    ConfigKey("group.coordinator.append.linger.ms", _I, "-1", -1),
    ConfigKey("group.coordinator.threads", _I, "4", 1),
    ConfigKey("background.threads", _I, "10", 1),
    ConfigKey("compression.gzip.level", _I, "-1", -1, 9),
    ConfigKey("log.cleaner.threads", _I, "1", 0),
    ConfigKey("log.dir", _LIST, None),
    ConfigKey("num.io.threads", _I, "8", 1),
    ConfigKey("num.network.threads", _I, "3", 1),
    ConfigKey("num.recovery.threads.per.data.dir", _I, "2", 1),
    ConfigKey("queued.max.requests", _I, "500", 1),
    ConfigKey("controlled.shutdown.enable", _B, "true"),
    ConfigKey("num.replica.fetchers", _I, "1"),
)

_INTERNAL = ConfigKey("internal.metadata.log.segment.bytes", _I, None, 1)
"""Kafka's own key for tests that need small segments; accepted, never described."""

BROKER_CONFIGS = table(
    _INTERNAL, *IGNORED, *_COARSER, *_FOR_TOPICS, *_OBEYED, *OF_CLUSTER, *OF_LISTENERS.values()
)
KNOWN_CONFIGS = table(*BROKER_CONFIGS.values(), *WITHOUT_EFFECT.values())
del KNOWN_CONFIGS[_INTERNAL.name]
"""The keys that DescribeConfigs shows and AlterConfigs knows, including those without effect
here."""


@dataclass(frozen=True)
class BrokerConfig:
    """The configuration of one broker: the given settings over Kafka's defaults."""

    given: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> BrokerConfig:
        """Return the configuration after checking every key. Raise BadConfig for the first key or
        value that is unknown, invalid, without effect here, or contradicts another one."""
        for_all = {name: text for name, text in given.items() if not name.startswith(PREFIX)}
        idle = sorted(for_all.keys() & WITHOUT_EFFECT.keys())
        if idle:
            raise BadConfig(
                f"{', '.join(idle)}: Apache Kafka has this, but it has no effect here; remove it"
            )
        check_lengths(given)
        check_all(BROKER_CONFIGS, for_all, "broker")
        config = cls(dict(given))
        config.access_to_peers()
        config.check_super_users()
        config.check_consumer_groups()
        config.check_request_sizes()
        if config.directories:
            check_cordoned(config.text(CORDONED), config.directories)
        return config

    def under(self, *layers: Mapping[str, str]) -> BrokerConfig:
        """Return this configuration overridden by others, the last of which is the strongest
        (KIP-226). Nothing is checked: whoever stored the overrides has done that."""
        given = dict(self.given)
        for layer in layers:
            given.update(layer)
        return BrokerConfig(given)

    def text(self, name: str) -> str:
        """Return the value of a key as text: the given one, else its default, else ""."""
        return self.given.get(name, BROKER_CONFIGS[name].default or "")

    def number(self, name: str) -> int:
        """Return the value of a numeric key. The key must have a default or be given."""
        return int(self.text(name))

    def flag(self, name: str) -> bool:
        """Return the value of a BOOLEAN key."""
        return self.text(name).strip().lower() == "true"

    @property
    def node_id(self) -> int:
        """Return the id of this broker."""
        return self.number("node.id")

    @property
    def directories(self) -> list[str]:
        """Return the data directories that are given, none if that is left to the command line."""
        return split_list(self.text("log.dirs") or self.text("log.dir"))

    @cached_property
    def topic_defaults(self) -> dict[str, str]:
        """Return the configuration of a topic without overrides."""
        return defaults_from(self.given)

    @property
    def super_users(self) -> frozenset[str]:
        """Return the principals that may do everything, whatever the ACLs say. super.users
        separates them by semicolons."""
        users = (user.strip() for user in self.text("super.users").split(";"))
        return frozenset(user for user in users if user)

    def check_super_users(self) -> None:
        """Raise BadConfig for a super user that is not a principal."""
        for user in sorted(self.super_users):
            kind, separator, name = user.partition(":")
            if not (kind and separator and name):
                raise BadConfig(
                    f"super.users: {user} is not a principal; write each as User:NAME,"
                    " separated by ;"
                )

    def check_request_sizes(self) -> None:
        """Raise BadConfig if one request (socket.request.max.bytes) may be larger than all together
        (queued.max.request.bytes, unless that is -1 or 0; KafkaConfig.java)."""
        one, together = "socket.request.max.bytes", "queued.max.request.bytes"
        if 0 < self.number(together) < self.number(one):
            raise BadConfig(
                f"{together}={self.number(together)}: it must be at least"
                f" {one}={self.number(one)}, or -1"
            )

    def check_consumer_groups(self) -> None:
        """Raise BadConfig for periods out of their bounds, or a heartbeat interval that is not
        below the session timeout (GroupCoordinatorConfig.java)."""
        for period in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"):
            name = f"group.consumer.{period}"
            low, high = (f"group.consumer.{bound}.{period}" for bound in ("min", "max"))
            if not self.number(low) <= self.number(name) <= self.number(high):
                raise BadConfig(
                    f"{name}={self.number(name)}: it must lie between {low}={self.number(low)} and"
                    f" {high}={self.number(high)}"
                )
        interval, timeout = (
            "group.consumer.heartbeat.interval.ms",
            "group.consumer.session.timeout.ms",
        )
        if self.number(interval) >= self.number(timeout):
            raise BadConfig(f"{interval} must be less than {timeout}")

    def listeners(self) -> tuple[Listener, ...]:
        """Return the listeners for clients and other brokers, with their security settings. Raise
        BadConfig if one is not valid."""
        return listeners_of(self.given, self._in_full())[0]

    def controller_listeners(self) -> tuple[Listener, ...]:
        """Return the listeners for requests to the controller. Raise BadConfig for an invalid
        listener setting."""
        return listeners_of(self.given, self._in_full())[1]

    def membership(self) -> Membership:
        """Return this node's place in its cluster. Raise BadConfig if the roles, the id and the
        voters contradict each other."""
        return membership_of(self._in_full(), self.given, self.listeners())

    def access_to_peers(self) -> AccessToPeers:
        """Return how this node connects to others. Raise BadConfig if its place in the cluster, or
        the security settings for it, contradict each other."""
        return access_of(self.membership(), self._in_full(), self.given)

    def _in_full(self) -> dict[str, str]:
        """Return the value of every key: the given one, or its default."""
        return {name: self.text(name) for name in BROKER_CONFIGS}


def check_lengths(given: Mapping[str, str]) -> None:
    """Raise BadConfig for a name or value that is too long for a string of the protocol:
    DescribeConfigs names it, and brokers register with their rack and listeners. Secrets, such as
    certificates, are not sent, and may be longer."""
    for name, text in given.items():
        secret = name.startswith(PREFIX) or (
            name in KNOWN_CONFIGS and KNOWN_CONFIGS[name].type in SECRETS
        )
        for what, sent in (("name", name), ("value", "" if secret else text)):
            size = len(sent.encode())
            if size > STRING_BYTES_MAX:
                raise BadConfig(
                    f"{name[:100]}: its {what} has {size} bytes; shorten it to at most"
                    f" {STRING_BYTES_MAX}"
                )
