"""The controllers, by their own listener: who may ask them, which brokers they accept, and what a
new one of them knows (KIP-500, KIP-631, KIP-919)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from chaos.values.faults import Kill
from chaos.world import joined
from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.cluster.test_lost_brokers import RETURN_S, lost, replicated
from conformance.cases.cluster.test_quorum import METADATA
from conformance.cases.configs.configs import BROKER, alter, change
from conformance.target.examination import Examined
from conformance.target.settings import broker_setting
from conformance.wire import Connection, ConnectionClosed, Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Malformed, Struct

NAMES_LISTENERS = 2
"""The version of DescribeQuorum from which on it tells where controllers listen (KIP-853)."""
CREATE_VERSION, REGISTRATION_VERSION, HEARTBEAT_VERSION = 7, 4, 1
STRANGER = 47_110_815
"""The id of a broker that does not exist."""


def quorum(wire: Wire) -> Struct:
    """Return DescribeQuorum of the metadata."""
    rows = [part("DescribeQuorum", "PartitionData")]
    topic = part("DescribeQuorum", "TopicData", topic_name=METADATA, partitions=rows)
    version = wire.version("DescribeQuorum", NAMES_LISTENERS)
    answer = wire.call("DescribeQuorum", version, topics=[topic])
    expect(answer.error_code, ErrorCode.NONE, "DescribeQuorum error")
    return answer


def active_controller(wire: Wire) -> int:
    """Return the id of the quorum's leader."""
    return int(quorum(wire).topics[0].partitions[0].leader_id)


def controllers(wire: Wire) -> dict[int, Connection]:
    """Return a connection to the listener of each controller; raise Unsupported where clients
    cannot reach them."""
    found = {}
    for node in quorum(wire).nodes:
        for listener in node.listeners[:1]:
            try:
                found[node.node_id] = wire.connect(address=(listener.host, listener.port))
                found[node.node_id].call("ApiVersions", 0)
            except (OSError, ConnectionClosed, Malformed) as error:
                # It may be closed to clients, or want TLS or SASL.
                raise Unsupported(f"the controllers cannot be reached: {error}") from None
    if not found:
        raise Unsupported("the quorum has no listener of its own")
    return found


def at_active(wire: Wire) -> Connection:
    """Return a connection to the active controller."""
    return controllers(wire)[active_controller(wire)]


def created_at(controller: Connection, name: str) -> int:
    """Send CreateTopics straight to a controller, and return the error of the topic."""
    topic = part(
        "CreateTopics", "CreatableTopic", name=name, num_partitions=1, replication_factor=-1
    )
    body = request("CreateTopics", topics=[topic], timeout_ms=20_000)
    return int(controller.call("CreateTopics", CREATE_VERSION, body).topics[0].error_code)


def registration(wire: Wire, **changed: Any) -> Struct:
    """Return a registration that the cluster would accept, of a broker that does not exist."""
    told = wire.call("ApiVersions", client_software_name="touchstone", client_software_version="1")
    features = [
        part(
            "BrokerRegistration",
            "Feature",
            name=feature.name,
            min_supported_version=feature.min_version_level,
            max_supported_version=feature.max_version_level,
        )
        for feature in told.finalized_features
    ]
    listeners = [
        part("BrokerRegistration", "Listener", name=name, host="localhost", port=9)
        for name in listener_names(wire)
    ]
    fields: dict[str, Any] = {
        "broker_id": STRANGER,
        "cluster_id": wire.call("DescribeCluster").cluster_id,
        "incarnation_id": uuid.uuid4(),
        "rack": None,
        "log_dirs": [uuid.uuid4()],
        "listeners": listeners,
        "features": features,
    }
    return request("BrokerRegistration", **(fields | changed))


def listener_names(wire: Wire) -> list[str]:
    """Return the names of a broker's listeners. Clients are told of a broker only if it has the
    listener on which they ask."""
    node_id = min(wire.brokers())
    wanted = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=4,
        resource_name=str(node_id),
        configuration_keys=["advertised.listeners"],
    )
    version = wire.version("DescribeConfigs")
    answer = wire.broker(node_id).call("DescribeConfigs", version, resources=[wanted])
    told = [config.value or "" for result in answer.results for config in result.configs]
    return [url.partition("://")[0].strip() for url in ",".join(told).split(",") if url]


def registered(wire: Wire, controller: Connection) -> int:
    """Register a broker that does not exist, until the case is over, and return its epoch."""
    wire.at_end(lambda: wire.call("UnregisterBroker", broker_id=STRANGER))
    answer = controller.call("BrokerRegistration", REGISTRATION_VERSION, registration(wire))
    expect(answer.error_code, ErrorCode.NONE, "registration error")
    return int(answer.broker_epoch)


def beat(controller: Connection, **fields: Any) -> Struct:
    """Send BrokerHeartbeat of the registered broker, which has no metadata, and return the
    answer."""
    usual: dict[str, Any] = {"broker_id": STRANGER, "current_metadata_offset": 0}
    body = request("BrokerHeartbeat", **(usual | fields))
    return controller.call("BrokerHeartbeat", HEARTBEAT_VERSION, body)


@case(
    "KRFT-03",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-500; KIP-595, Leader election",
    priority="P1",
    requires=["restart"],
)
def test_another_controller_takes_over_with_all_metadata(
    wire: Wire, version: int, examined: Examined
) -> None:
    """If the active controller dies, another voter of the quorum leads in a greater epoch; topics
    and configurations made before are still there, and brokers get new ones made by it."""
    brokers = wire.brokers()
    if len(brokers) < 3:
        raise Unsupported("the case needs a target of three nodes")
    before = quorum(wire).topics[0].partitions[0]
    survivors = [node for node in brokers if node != before.leader_id]
    other = Wire(joined(brokers[survivors[0]]), wire.advertised)
    topic = replicated(wire, survivors, retention_ms="4711000", min_insync_replicas="1")
    try:
        with lost(examined, other, topic, Kill(examined.number_of(before.leader_id))):
            after = eventually(
                lambda: quorum(other).topics[0].partitions[0],
                lambda p: p.leader_id in survivors,
                "another controller leads",
                RETURN_S,
            )
            eventually(
                lambda: set(other.brokers()), lambda b: b == set(survivors), "who lives", RETURN_S
            )
            expect_that(
                after.leader_epoch > before.leader_epoch,
                "epoch of the quorum",
                f"> {before.leader_epoch}",
                after.leader_epoch,
            )
            expect(other.topic_metadata(topic.name).topic_id, topic.id, "id of the topic")
            expect(retention_of(other, topic.name), ["4711000"], "its retention.ms")
            made = other.create_topic()
        wire.forget_connections()
        expect(wire.topic_metadata(made.name).topic_id, made.id, "id of the new topic")
    finally:
        other.close()


def retention_of(wire: Wire, topic: str) -> list[str | None]:
    """Return retention.ms of a topic."""
    wanted = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=2,
        resource_name=topic,
        configuration_keys=["retention.ms"],
    )
    results = wire.call("DescribeConfigs", resources=[wanted]).results
    return [config.value for result in results for config in result.configs]


@case("KRFT-04", "DescribeQuorum", versions=(2, 2), spec="KIP-919", priority="P1")
def test_the_active_controller_serves_administrators_and_others_refuse(
    wire: Wire, version: int
) -> None:
    """CreateTopics to the active controller's own listener makes the topic; another controller
    answers NOT_CONTROLLER (41), and makes nothing."""
    found, active = controllers(wire), active_controller(wire)
    for node, controller in found.items():
        name = wire.new_name()
        refused = node != active
        expected = ErrorCode.NOT_CONTROLLER if refused else ErrorCode.NONE
        expect(created_at(controller, name), expected, f"error of controller {node}")
        if refused:
            error = wire.topic_metadata(name).error_code
            expect(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of the topic")
        else:
            wire.wait_for_topic(name, 1)


@case(
    "KRFT-04",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-919; class QuorumController, ConfigResourceExistenceChecker",
    priority="P1",
)
def test_a_controller_changes_no_broker_that_has_not_registered(wire: Wire, version: int) -> None:
    """IncrementalAlterConfigs of a broker that has not registered gets BROKER_ID_NOT_REGISTERED
    (102) from the active controller, even if a value is wrong; but a change that a controller makes
    for no broker, one that adds cordoned directories (where there are such), INVALID_CONFIG
    (40)."""
    controller, name = at_active(wire), str(STRANGER)
    wanted = {("log.cleaner.threads", "2"): ErrorCode.BROKER_ID_NOT_REGISTERED}
    wanted["log.cleaner.threads", "many"] = ErrorCode.BROKER_ID_NOT_REGISTERED
    if broker_setting(wire, "cordoned.log.dirs") is not None:
        wanted["cordoned.log.dirs", "/elsewhere"] = ErrorCode.INVALID_CONFIG
    for (key, value), error in wanted.items():
        changes = {name: [change(key, value)]}
        codes = alter(
            wire, 1, changes, resource_type=BROKER, validate_only=True, connection=controller
        )
        expect(codes, {name: error}, f"errors with {key}={value}")


WRONG: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "another-cluster": ({"cluster_id": "A" * 22}, ErrorCode.INCONSISTENT_CLUSTER_ID),
    "no-metadata-version": ({"features": []}, ErrorCode.INVALID_REGISTRATION),
    "no-directory": ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
}


@pytest.mark.parametrize(("changed", "error"), list(WRONG.values()), ids=list(WRONG))
@case(
    "KRFT-05",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-631; class ClusterControlManager, registerBroker",
    priority="P1",
    requires=["restart"],
)
def test_a_broker_that_does_not_belong_is_not_registered(
    wire: Wire, version: int, changed: dict[str, Any], error: ErrorCode
) -> None:
    """A registration for another cluster gets INCONSISTENT_CLUSTER_ID (104); one that supports no
    metadata.version, or names no directory, gets INVALID_REGISTRATION (119)."""
    body = registration(wire, **changed)
    answer = at_active(wire).call("BrokerRegistration", REGISTRATION_VERSION, body)
    expect(answer.error_code, error, "registration error")


@case(
    "KRFT-05",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-631; class ClusterControlManager, registerBroker",
    priority="P1",
    requires=["restart"],
)
def test_the_id_of_a_living_broker_is_taken(wire: Wire, version: int) -> None:
    """A registration with the id of a broker that is alive gets DUPLICATE_BROKER_REGISTRATION
    (101), and the broker keeps its registered address."""
    before = wire.brokers()
    body = registration(wire, broker_id=max(before))
    answer = at_active(wire).call("BrokerRegistration", REGISTRATION_VERSION, body)
    expect(answer.error_code, ErrorCode.DUPLICATE_BROKER_REGISTRATION, "registration error")
    expect(wire.brokers(), before, "brokers afterwards")


@case(
    "KRFT-05",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-631; class ClusterControlManager, registerBroker",
    priority="P1",
    requires=["restart"],
)
def test_the_id_of_a_fenced_broker_is_taken_while_it_sends_heartbeats(
    wire: Wire, version: int
) -> None:
    """A broker that has sent no heartbeat is replaced by another process with its id, which gets a
    greater epoch. The same process that registers again keeps its epoch. As soon as it has sent a
    heartbeat, although it is fenced, another process gets DUPLICATE_BROKER_REGISTRATION (101)."""
    controller = at_active(wire)
    first = registered(wire, controller)

    def register(body: Struct) -> tuple[int, int]:
        answer = controller.call("BrokerRegistration", REGISTRATION_VERSION, body)
        return answer.error_code, answer.broker_epoch

    second = registration(wire)
    error, epoch = register(second)
    expect(error, ErrorCode.NONE, "error of the second process")
    expect_that(epoch > first, "its epoch", f"> {first}", epoch)
    expect(register(second), (ErrorCode.NONE, epoch), "(error, epoch) of the second process again")
    answer = beat(controller, broker_epoch=epoch)
    expect((answer.error_code, answer.is_fenced), (ErrorCode.NONE, True), "(error, fenced)")
    error = register(registration(wire))[0]
    expect(error, ErrorCode.DUPLICATE_BROKER_REGISTRATION, "error of a third process")
    expect(
        register(second), (ErrorCode.NONE, epoch), "(error, epoch) of the second process at last"
    )


@case(
    "KRFT-06",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-631; class ClusterControlManager, checkBrokerEpoch",
    priority="P1",
    requires=["restart"],
)
def test_a_heartbeat_of_another_broker_epoch_is_stale(wire: Wire, version: int) -> None:
    """A heartbeat with another epoch than that of the registration, or of a broker that is not
    registered, gets STALE_BROKER_EPOCH (77)."""
    controller = at_active(wire)
    epoch = registered(wire, controller)
    for what, fields in (
        ("an older epoch", {"broker_epoch": epoch - 1}),
        ("a later epoch", {"broker_epoch": epoch + 1}),
        ("another broker", {"broker_epoch": epoch, "broker_id": STRANGER + 1}),
    ):
        answer = beat(controller, **fields)
        expect(answer.error_code, ErrorCode.STALE_BROKER_EPOCH, f"error of {what}")
    expect(beat(controller, broker_epoch=epoch).error_code, ErrorCode.NONE, "error of its own")


@case(
    "KRFT-07",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-631, Broker fencing; KIP-1073",
    priority="P1",
    requires=["restart"],
)
def test_a_broker_that_lacks_metadata_stays_fenced(wire: Wire, version: int) -> None:
    """A registered broker whose heartbeat says that it has no metadata is answered as fenced and
    not caught up. Metadata does not list it, DescribeCluster lists it only if fenced brokers are
    requested, and it leads no partition."""
    controller, before = at_active(wire), wire.brokers()
    epoch = registered(wire, controller)
    answer = beat(controller, broker_epoch=epoch)
    expect(answer.error_code, ErrorCode.NONE, "heartbeat error")
    expect((answer.is_fenced, answer.is_caught_up), (True, False), "(fenced, caught up)")
    described = wire.version("DescribeCluster", 2)

    def told(fenced: bool) -> dict[int, bool]:
        answer = wire.call("DescribeCluster", described, include_fenced_brokers=fenced)
        return {broker.broker_id: broker.is_fenced for broker in answer.brokers}

    eventually(lambda: told(True).get(STRANGER), lambda f: f is True, "it is told as fenced")
    expect(sorted(told(False)), sorted(before), "brokers that are not fenced")
    expect(wire.brokers(), before, "brokers of Metadata")
    topic = wire.create_topic(partitions=6)
    rows = each(wire.topic_metadata(topic.name).partitions, "partitions", topic.partitions)
    expect(STRANGER in {row.leader_id for row in rows}, False, "it leads a partition")
