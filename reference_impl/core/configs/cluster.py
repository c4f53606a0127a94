"""The place of a node in its cluster: roles, voters of the quorum, listeners between nodes.

Source: KafkaConfig.scala (validateValues), QuorumConfig.java (parseVoterConnections),
ReplicationConfigs.java, KRaftConfigs.java, Kafka 4.3; KIP-595, KIP-631, KIP-853 (bootstrap
servers).

    process.roles=broker,controller
    node.id=1
    controller.quorum.voters=1@b1:9093,2@b2:9093,3@b3:9093
    listeners=PLAINTEXT://b1:9092,CONTROLLER://b1:9093
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reference_impl.core.configs.keys import BadConfig, ConfigKey, ConfigType, split_list
from reference_impl.core.security.listeners import (
    PROTOCOLS,
    Endpoint,
    Listener,
    names_and_endpoints,
)
from reference_impl.core.security.peer_access import (
    TO_BROKERS,
    TO_CONTROLLERS,
    AccessToPeers,
    access_to_peers,
)

_S, _I, _L = ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_LIST = ConfigType.LIST

BROKER, CONTROLLER = "broker", "controller"
VOTERS, BOOTSTRAP = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
AUTO_JOIN = "controller.quorum.auto.join.enable"
CONTROLLER_LISTENERS, ROLES = "controller.listener.names", "process.roles"
BETWEEN_BROKERS = "inter.broker.listener.name"
PROTOCOL_BETWEEN_BROKERS = "security.inter.broker.protocol"

OF_CLUSTER = (
    ConfigKey("broker.heartbeat.interval.ms", _I, "2000", 1),
    ConfigKey("broker.session.timeout.ms", _I, "9000", 1),
    ConfigKey(CONTROLLER_LISTENERS, _LIST, "CONTROLLER"),
    ConfigKey("controller.quorum.append.linger.ms", _I, "0"),
    ConfigKey(AUTO_JOIN, ConfigType.BOOLEAN, "false"),
    ConfigKey(BOOTSTRAP, _LIST, ""),
    ConfigKey("controller.quorum.election.backoff.max.ms", _I, "1000", 1),
    ConfigKey("controller.quorum.election.timeout.ms", _I, "1000", 1),
    ConfigKey("controller.quorum.fetch.max.bytes", _I, "1048576", 1),
    ConfigKey("controller.quorum.fetch.snapshot.max.bytes", _I, "1048576", 1),
    ConfigKey("controller.quorum.fetch.timeout.ms", _I, "2000", 1),
    ConfigKey("controller.quorum.request.timeout.ms", _I, "2000", 1),
    ConfigKey("controller.quorum.retry.backoff.ms", _I, "20", 1),
    ConfigKey(VOTERS, _LIST, ""),
    ConfigKey("initial.broker.registration.timeout.ms", _I, "60000", 1),
    ConfigKey(BETWEEN_BROKERS, _S, None),
    ConfigKey("node.id", _I, "1", 0),
    ConfigKey(ROLES, _LIST, "broker,controller", one_of=(BROKER, CONTROLLER)),
    ConfigKey("replica.fetch.backoff.ms", _I, "1000", 0),
    ConfigKey("replica.fetch.max.bytes", _I, "1048576", 0),
    ConfigKey("replica.fetch.min.bytes", _I, "1"),
    ConfigKey("replica.fetch.response.max.bytes", _I, "10485760", 0),
    ConfigKey("replica.fetch.wait.max.ms", _I, "500"),
    ConfigKey("replica.lag.time.max.ms", _L, "30000"),
    ConfigKey("replica.socket.timeout.ms", _I, "30000", 1),
    ConfigKey(TO_CONTROLLERS, _S, "GSSAPI"),
    ConfigKey(TO_BROKERS, _S, "GSSAPI"),
    ConfigKey(PROTOCOL_BETWEEN_BROKERS, _S, "PLAINTEXT", one_of=PROTOCOLS),
)
"""The keys by which nodes are one cluster, and by which they notice that one is gone."""

INTERNAL_COPIES = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
INTERNAL_IN_SYNC = "transaction.state.log.min.isr"


def of_internal_topics(brokers: int) -> dict[str, str]:
    """Return the settings that let this number of brokers have internal topics: as many copies as
    there are brokers, but at most Kafka's default of 3. A topic with more copies than brokers is
    not created, which is why Kafka's own server.properties lowers the same keys to 1."""
    copies = min(brokers, 3)
    return {**dict.fromkeys(INTERNAL_COPIES, str(copies)), INTERNAL_IN_SYNC: str(min(copies, 2))}


@dataclass(frozen=True)
class Membership:
    """The place of one node in its cluster. A node without settings is a cluster of one voter."""

    node_id: int
    is_broker: bool
    is_controller: bool
    voters: Mapping[int, Endpoint]
    """The voters that the configuration names (kraft.version 0); empty where it names none."""
    bootstrap: tuple[Endpoint, ...]
    """Controllers that know the quorum (KIP-853), for a node whose configuration has no voters."""
    controller_listener: str | None
    """The listener on which controllers are asked: the first of `controller.listener.names`,
    None if that is empty."""
    between_brokers: str | None
    """The listener on which brokers ask each other, None for a node that is no broker."""

    @property
    def is_alone(self) -> bool:
        """Return whether the configuration names no other node."""
        return not self.bootstrap and not self.voters.keys() - {self.node_id}

    @property
    def is_without_peers(self) -> bool:
        """Return whether no other node can ever be in its cluster: the configuration gives not even
        the node itself an address for them."""
        return self.is_alone and not self.voters


def membership_of(
    config: Mapping[str, str], given: Mapping[str, str], of_clients: tuple[Listener, ...]
) -> Membership:
    """Return the node's place in its cluster. Raise BadConfig for settings that contradict each
    other.

    config: the broker's keys with their defaults. given: what was set. of_clients: the listeners
    other than the controllers'.
    """
    roles = split_list(config[ROLES])
    if not roles:
        raise BadConfig(f"{ROLES} is empty; write broker, controller, or both")
    if len(set(roles)) < len(roles):
        raise BadConfig(f"{ROLES}={config[ROLES]}: a role is named twice; name each once")
    names = split_list(config[CONTROLLER_LISTENERS])
    found = Membership(
        int(config["node.id"]),
        BROKER in roles,
        CONTROLLER in roles,
        voters_of(config[VOTERS]),
        tuple(_endpoint(BOOTSTRAP, item) for item in split_list(config[BOOTSTRAP])),
        names[0] if names else None,
        _between_brokers(config, given, of_clients) if BROKER in roles else None,
    )
    _check_quorum(found, config, given)
    _check_controller_listener(found, config, of_clients)
    _check_periods(config)
    return found


def access_of(
    membership: Membership, config: Mapping[str, str], given: Mapping[str, str]
) -> AccessToPeers:
    """Return how a node connects to others: in PLAINTEXT if it can have none. Raise BadConfig for
    security settings that are missing or wrong. config, given: as for `membership_of`."""
    if membership.is_without_peers:
        return AccessToPeers()
    return access_to_peers(
        membership.between_brokers, membership.controller_listener, given, config
    )


def voters_of(text: str) -> dict[int, Endpoint]:
    """Return id -> endpoint for the text ID@host:port,…. Raise BadConfig if the text is not of this
    form, or names a node or an address twice."""
    found: dict[int, Endpoint] = {}
    for item in split_list(text):
        node, separator, address = item.partition("@")
        if not separator or not node.isascii() or not node.isdigit():
            raise BadConfig(f"{VOTERS}={text}: {item} is not a voter; write each as ID@host:port")
        if int(node) in found:
            raise BadConfig(
                f"{VOTERS}={text}: node {int(node)} is named twice; name each voter once"
            )
        endpoint = _endpoint(VOTERS, address)
        if endpoint in found.values():
            raise BadConfig(
                f"{VOTERS}={text}: {address} is named twice; give each voter its own address"
            )
        found[int(node)] = endpoint
    return found


def _endpoint(key: str, text: str) -> Endpoint:
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:@\[\]]+):([0-9]{1,5})", text)
    if match is None or not 0 < int(match[2]) <= 65535:
        raise BadConfig(
            f"{key}: {text} is not an address; write host:port, with a port from 1 to 65535"
        )
    return Endpoint(match[1].strip("[]"), int(match[2]))


def _between_brokers(
    config: Mapping[str, str], given: Mapping[str, str], of_clients: tuple[Listener, ...]
) -> str:
    """Return the listener between brokers: the one that is named, else the one with the name of
    their protocol. If neither is set and none is called PLAINTEXT, return the first, where Kafka
    refuses to start. Raise BadConfig if there is none, or both are set."""
    names = [listener.name for listener in of_clients]
    if not names:
        raise BadConfig(f"listeners={config['listeners']}: there is none for clients; add one")
    keys = [key for key in (BETWEEN_BROKERS, PROTOCOL_BETWEEN_BROKERS) if given.get(key)]
    if len(keys) > 1:
        raise BadConfig(f"{' and '.join(keys)} are both given; set one of them")
    wanted = config[keys[0] if keys else PROTOCOL_BETWEEN_BROKERS]
    if wanted in names:
        return wanted
    if keys:
        raise BadConfig(
            f"{keys[0]}={wanted}: there is no such listener for brokers; there are"
            f" {', '.join(names)}"
        )
    return names[0]


def _check_quorum(found: Membership, config: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Raise BadConfig unless roles, id, voters and bootstrap servers agree."""
    voters = ", ".join(map(str, sorted(found.voters)))
    if not found.is_alone and "node.id" not in given:
        raise BadConfig("node.id is not given: give each node of the cluster its own")
    if found.voters and found.bootstrap:
        raise BadConfig(
            f"{VOTERS} and {BOOTSTRAP} are both given: name the voters by the first, or where to"
            " find them by the second"
        )
    if found.is_alone and not found.voters:
        if not (found.is_broker and found.is_controller):
            raise BadConfig(
                f"{ROLES}={config[ROLES]}: a node that is not both broker and controller needs"
                f" others; name the controllers by {VOTERS}=ID@host:port,…"
            )
        return
    if not found.voters:
        return
    if found.is_controller and found.node_id not in found.voters:
        raise BadConfig(
            f"node.id={found.node_id} is a controller and not among the voters {voters} of"
            f" {VOTERS}; add it there, or take controller out of {ROLES}"
        )
    if not found.is_controller and found.node_id in found.voters:
        raise BadConfig(
            f"node.id={found.node_id} is not a controller, but is among the voters {voters} of"
            f" {VOTERS}; give it another node.id, or add controller to {ROLES}"
        )


def _check_controller_listener(
    found: Membership, config: Mapping[str, str], of_clients: tuple[Listener, ...]
) -> None:
    """Raise BadConfig unless every controller has the listener that is named for controllers, no
    other node has it, and a node that is no broker has no listener for clients."""
    names = split_list(config[CONTROLLER_LISTENERS])
    bound = names_and_endpoints("listeners", config["listeners"])
    if found.controller_listener is None and not found.is_alone:
        raise BadConfig(f"{CONTROLLER_LISTENERS} is empty; name the listener of the controllers")
    missing = found.is_controller and found.controller_listener not in bound
    if missing and not found.is_alone:
        raise BadConfig(
            f"listeners={config['listeners']}: a controller listens on"
            f" {found.controller_listener}; add {found.controller_listener}://host:port"
        )
    if of_clients and not found.is_broker:
        raise BadConfig(
            f"listeners={config['listeners']}: {of_clients[0].name} is for clients, and {ROLES} has"
            " no broker; remove it"
        )
    for name in names:
        if name in bound and not found.is_controller:
            raise BadConfig(
                f"listeners: {name} is a listener of controllers, and {ROLES} has no controller;"
                " remove it"
            )


def _check_periods(config: Mapping[str, str]) -> None:
    """Raise BadConfig for periods that cannot work together (KafkaConfig.scala)."""
    for less, more in (
        ("broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
        ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
        ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ):
        if int(config[less]) > int(config[more]):
            raise BadConfig(f"{less}={config[less]}: it must be at most {more}={config[more]}")
