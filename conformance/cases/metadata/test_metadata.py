"""Metadata: brokers, topics, partitions; what is created by asking."""

from __future__ import annotations

import uuid

import pytest

from chaos.world import joined
from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.configs.configs import BROKER, describe
from conformance.clients.members import coordinator
from conformance.target.clock import now_ms
from conformance.target.settings import broker_setting
from conformance.wire import Wire, batch, eventually, part
from reference_impl.access import Bootstrap
from reference_impl.wire import ErrorCode, Record, Struct

NO_ID = uuid.UUID(int=0)
NOT_ASKED = -(2**31)


def shown(topic: Struct) -> tuple[object, ...]:
    """Return what Metadata shows of a topic and its partitions, but for who is in sync."""
    partitions = sorted(
        (p.partition_index, p.error_code, p.leader_id, p.leader_epoch, sorted(p.replica_nodes))
        for p in topic.partitions
    )
    return topic.error_code, topic.name, topic.topic_id, topic.is_internal, partitions


def named(*names: str) -> list[Struct]:
    return [part("Metadata", "MetadataRequestTopic", name=name) for name in names]


@case("META-01", "Metadata", versions=(1, 13), spec="MetadataRequest.json, field Topics")
def test_null_asks_for_all_topics_and_empty_for_none(wire: Wire, version: int) -> None:
    """topics=null returns every topic, with the same partitions as by its name, an empty array
    none."""
    topic = wire.create_topic(2)

    def among_all() -> Struct:
        everything = wire.call("Metadata", version, topics=None).topics
        found: list[Struct] = [row for row in everything if row.name == topic.name]
        expect(len(found), 1, f"times that {topic.name} is among all topics")
        return found[0]

    eventually(
        lambda: (shown(among_all()), shown(wire.topic_metadata(topic.name, version))),
        lambda found: found[0] == found[1],
        "a topic among all is what it is by its name",
    )
    expect(wire.call("Metadata", version, topics=[]).topics, [], "topics for an empty array")


@case(
    "META-02", "Metadata", versions=(0, 0), spec="MetadataRequest.json, field Topics", priority="P1"
)
def test_version_0_asks_for_all_topics_by_an_empty_array(wire: Wire, version: int) -> None:
    """In version 0 the empty array means every topic."""
    topic = wire.create_topic()
    answer = wire.call("Metadata", version, topics=[])
    expect_that(
        topic.name in [t.name for t in answer.topics],
        "topics",
        f"with {topic.name}",
        [t.name for t in answer.topics],
    )


@case("META-03", "Metadata", spec="KIP-103; MetadataResponse.json, Brokers")
def test_each_broker_is_reachable_where_metadata_says(wire: Wire, version: int) -> None:
    """Every broker listed has its own id and an address at which a Kafka answers."""
    answer = wire.call("Metadata", version, topics=[])
    ids = [b.node_id for b in answer.brokers]
    expect_that(len(ids) == len(set(ids)) > 0, "broker ids", "at least one, each once", ids)
    for broker in each(answer.brokers, "brokers"):
        reached = Wire(Bootstrap(joined((broker.host, broker.port)), wire.access), wire.advertised)
        other = reached.call("Metadata", version, topics=[])
        reached.close()
        expect(sorted(b.node_id for b in other.brokers), sorted(ids), "broker ids seen there")


@case("META-03", "Metadata", versions=(1, 13), spec="MetadataResponse.json, Rack; broker.rack")
def test_a_broker_has_the_rack_that_it_was_given(wire: Wire, version: int) -> None:
    """The rack of a broker is its broker.rack, and null, not empty, where that is not set."""
    answer = wire.call("Metadata", version, topics=[])
    for broker in each(answer.brokers, "brokers"):
        told = describe(wire, str(broker.node_id), ["broker.rack"], resource_type=BROKER)
        if told.error_code != ErrorCode.NONE or not told.configs:
            raise Unsupported("the broker does not tell its broker.rack")
        expect(broker.rack, told.configs[0].value, f"rack of broker {broker.node_id}")


@case("META-04", "Metadata", versions=(1, 13), spec="MetadataResponse.json, ControllerId")
def test_the_controller_is_a_broker_that_is_listed(wire: Wire, version: int) -> None:
    """controller_id is the id of a broker of the list: admin requests may be sent there."""
    answer = wire.call("Metadata", version, topics=[])
    expect(answer.controller_id, frozenset(b.node_id for b in answer.brokers), "controller id")


@case("META-05", "Metadata", versions=(2, 13), spec="KIP-78, Cluster Id")
def test_the_cluster_id_is_always_the_same(wire: Wire, version: int) -> None:
    """The cluster has an id, the same in every answer of every broker."""
    # Apache Kafka's is a UUID in 22 characters of base64; the field is a string, and no client
    # looks into it.
    asked = [wire.bootstrap, *wire.everywhere()]
    found = [connection.call("Metadata", version, topics=[]).cluster_id for connection in asked]
    expect_that(bool(found[0]), "cluster id", "some", found[0])
    expect(found, found[:1] * len(asked), "cluster id asked again, and of every broker")


@case("META-06", "Metadata", versions=(4, 13), spec="MetadataRequest.json, AllowAutoTopicCreation")
def test_an_unknown_topic_is_refused_if_it_may_not_be_created(wire: Wire, version: int) -> None:
    """Without allow_auto_topic_creation an unknown topic gets UNKNOWN_TOPIC_OR_PARTITION (3), its
    name and no partitions; it is not created."""
    name = wire.new_name("missing")
    for _ in range(2):
        answer = wire.call(
            "Metadata", version, topics=named(name), allow_auto_topic_creation=False
        ).topics[0]
        expect(answer.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")
        expect((answer.name, answer.partitions), (name, []), "(name, partitions)")


@case(
    "META-07",
    "Metadata",
    versions=(4, 13),
    spec="class AutoTopicCreationManager",
    requires=["auto-create"],
)
def test_an_unknown_topic_is_created_if_it_may_be(wire: Wire, version: int) -> None:
    """With allow_auto_topic_creation, on a broker that creates topics, the topic soon exists with
    leaders and num.partitions partitions; until then UNKNOWN_TOPIC_OR_PARTITION (3) or
    LEADER_NOT_AVAILABLE (5)."""
    name = wire.new_name("auto")

    def ask() -> Struct:
        answer = wire.call("Metadata", version, topics=named(name), allow_auto_topic_creation=True)
        return answer.topics[0]  # type: ignore[no-any-return]

    waiting = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE}
    expect(ask().error_code, waiting, "first error")
    created = eventually(
        ask, lambda t: t.error_code == 0 and len(t.partitions) > 0, f"{name} is created"
    )
    partitions = broker_setting(wire, "num.partitions")
    expect(len(created.partitions), int(partitions or len(created.partitions)), "partitions")
    topic = wire.wait_for_topic(name, len(created.partitions))
    at_ms = now_ms(wire)  # the topic has the broker's bounds of times
    keyed = batch(b"a", base_timestamp=at_ms, max_timestamp=at_ms)
    keyed.records = [Record(key=b"k", value=b"a")]  # or compaction forbids it
    expect(wire.produce(topic, keyed.encode()).error_code, ErrorCode.NONE, "produce error")


@case(
    "META-07",
    "Metadata",
    versions=(0, 3),
    spec="KIP-4; MetadataRequest.json, AllowAutoTopicCreation",
    requires=["auto-create"],
)
def test_before_version_4_asking_for_a_topic_creates_it(wire: Wire, version: int) -> None:
    """Before v4 a request cannot forbid the creation: a broker that creates topics soon has the
    requested topic; until then the answer is UNKNOWN_TOPIC_OR_PARTITION (3) or LEADER_NOT_AVAILABLE
    (5)."""
    name = wire.new_name("auto")
    waiting = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE}
    first = wire.call("Metadata", version, topics=named(name)).topics[0]
    expect(first.error_code, waiting, "first error")
    created = eventually(
        lambda: wire.topic_metadata(name),  # this one creates nothing
        lambda t: t.error_code == 0 and len(t.partitions) > 0,
        f"{name} is created",
    )
    wire.wait_for_topic(name, len(created.partitions))


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a b", "a/b", "x" * 250],
    ids=["empty", "dot", "dots", "space", "slash", "long"],
)
@case("META-08", "Metadata", versions=(1, 13), spec="class Topic, validate")
def test_an_invalid_topic_name_is_refused(wire: Wire, version: int, name: str) -> None:
    """A name that is empty, . or .., longer than 249, or not of [a-zA-Z0-9._-], gets
    INVALID_TOPIC_EXCEPTION (17), whether or not the topic may be created (v4+)."""
    for creates in (True, False) if version >= 4 else (True,):
        answer = wire.call(
            "Metadata", version, topics=named(name), allow_auto_topic_creation=creates
        )
        error = answer.topics[0].error_code
        expect(error, ErrorCode.INVALID_TOPIC_EXCEPTION, f"error, may be created: {creates}")


@case("META-09", "Metadata", spec="KIP-320; KIP-112; MetadataResponse.json, Partitions")
def test_each_partition_has_a_leader_among_its_in_sync_replicas(wire: Wire, version: int) -> None:
    """Partitions are numbered from 0; the leader is in sync, the in-sync replicas are replicas,
    the leader epoch (v7+) is not negative and no replica is offline (v5+)."""
    topic = wire.create_topic(partitions=3)
    partitions = wire.call("Metadata", version, topics=named(topic.name)).topics[0].partitions
    expect(sorted(p.partition_index for p in partitions), [0, 1, 2], "partition numbers")
    for found in each(partitions, "partitions"):
        expect(found.error_code, ErrorCode.NONE, "partition error")
        expect(found.leader_id, frozenset(found.isr_nodes), "leader")
        expect_that(
            set(found.isr_nodes) <= set(found.replica_nodes),
            "in-sync replicas",
            f"among {found.replica_nodes}",
            found.isr_nodes,
        )
        if version >= 7:
            expect_that(found.leader_epoch >= 0, "leader epoch", ">= 0", found.leader_epoch)
        if version >= 5:
            expect(found.offline_replicas, [], "offline replicas")


@case("META-10", "Metadata", versions=(10, 13), spec="KIP-516, Metadata")
def test_a_topic_id_is_kept_for_the_life_of_the_topic(wire: Wire, version: int) -> None:
    """A topic's id is a UUID other than zero; it stays while the topic lives, and a topic created
    later under the same name has another one."""
    topic = wire.create_topic()
    first = wire.topic_metadata(topic.name, version).topic_id
    expect_that(first != NO_ID, "topic id", "not zero", first)
    expect(wire.topic_metadata(topic.name, version).topic_id, first, "topic id asked again")
    wire.delete_topic(topic)
    again = wire.create_topic(name=topic.name)
    expect_that(again.id != first, "id of the new topic", "another one", again.id)


@case("META-11", "Metadata", versions=(12, 13), spec="KIP-516, Metadata", priority="P1")
def test_a_topic_may_be_asked_for_by_id(wire: Wire, version: int) -> None:
    """From v12 on a topic is found by its id with a null name; name and id come back."""
    topics = [wire.create_topic(), wire.create_topic()]
    by_id = [part("Metadata", "MetadataRequestTopic", topic_id=t.id, name=None) for t in topics]
    found = wire.call("Metadata", version, topics=by_id).topics
    expect(
        sorted((t.error_code, t.name, t.topic_id) for t in found),
        sorted((0, t.name, t.id) for t in topics),
        "(error, name, id)",
    )


@case("META-12", "Metadata", versions=(12, 13), spec="KIP-516, Metadata", priority="P1")
def test_an_unknown_topic_id_is_refused(wire: Wire, version: int) -> None:
    """An id that no topic has gets UNKNOWN_TOPIC_ID (100), and no authorized operations, although
    the request asks for them."""
    by_id = part("Metadata", "MetadataRequestTopic", topic_id=uuid.uuid4(), name=None)
    found = wire.call(
        "Metadata", version, topics=[by_id], include_topic_authorized_operations=True
    ).topics[0]
    expect(
        (found.error_code, found.name, found.partitions, found.topic_authorized_operations),
        (ErrorCode.UNKNOWN_TOPIC_ID, None, [], NOT_ASKED),
        "(error, name, partitions, operations)",
    )


@case(
    "META-13",
    "Metadata",
    versions=(10, 11),
    spec="class KafkaApis, handleTopicMetadataRequest",
    priority="P1",
)
def test_topic_ids_cannot_be_asked_for_before_version_12(wire: Wire, version: int) -> None:
    """v10 and v11 have the fields for it, but a request with an id or without a name gets
    INVALID_REQUEST (42) for each of its topics."""
    topic = wire.create_topic()
    by_id = part("Metadata", "MetadataRequestTopic", topic_id=topic.id, name=topic.name)
    nameless = part("Metadata", "MetadataRequestTopic", topic_id=topic.id, name=None)
    for wanted in (by_id, nameless):
        answer = wire.call(
            "Metadata",
            version,
            topics=[wanted, *named(topic.name)],
            allow_auto_topic_creation=False,
        )
        expect([t.error_code for t in answer.topics], [ErrorCode.INVALID_REQUEST] * 2, "errors")


@case("META-14", "Metadata", versions=(1, 13), spec="class Topic, isInternal", priority="P1")
def test_internal_topics_are_marked(wire: Wire, version: int) -> None:
    """The topics in which Kafka keeps offsets and transactions are internal, also before they
    exist; others are not."""
    internal = {"__consumer_offsets": 0, "__transaction_state": 1}
    for name in internal:
        expect(wire.topic_metadata(name).is_internal, True, f"{name} is internal")
    for key_type in internal.values():
        coordinator(wire, wire.new_name(), key_type)
    if wire.topic_metadata(next(iter(internal))).error_code != ErrorCode.NONE:
        raise Unsupported("there is a coordinator, but no topic in which it keeps offsets")
    found = {
        name: wire.topic_metadata(name, version).is_internal
        for name in (*internal, wire.create_topic().name)
    }
    expect(list(found.values()), [True, True, False], f"is_internal of {', '.join(found)}")


@case(
    "META-15",
    "Metadata",
    versions=(1, 13),
    spec="class KafkaApis, handleTopicMetadataRequest",
    priority="P1",
)
def test_a_topic_named_twice_comes_once(wire: Wire, version: int) -> None:
    """A topic named twice in a request has one entry in the answer."""
    topic = wire.create_topic()
    answer = wire.call("Metadata", version, topics=named(topic.name, topic.name))
    expect([t.name for t in answer.topics], [topic.name], "topics")


@case("META-16", "Metadata", versions=(8, 13), spec="KIP-430", priority="P1")
def test_authorized_operations_come_only_if_asked_for(wire: Wire, version: int) -> None:
    """topic_authorized_operations is -2147483648 unless the request asks for it."""
    topic = wire.create_topic()
    plain = wire.call("Metadata", version, topics=named(topic.name)).topics[0]
    expect(plain.topic_authorized_operations, NOT_ASKED, "operations, not asked for")
    asked = wire.call(
        "Metadata", version, topics=named(topic.name), include_topic_authorized_operations=True
    ).topics[0]
    expect_that(
        asked.topic_authorized_operations != NOT_ASKED,
        "operations, asked for",
        "a bit field",
        asked.topic_authorized_operations,
    )


@case("META-17", "Metadata", versions=(8, 10), spec="KIP-430; KIP-700", priority="P2")
def test_the_clusters_operations_come_only_if_asked_for(wire: Wire, version: int) -> None:
    """cluster_authorized_operations (v8 to v10) is -2147483648 unless the request asks for it; then
    it has the bits that DescribeCluster gives."""
    told = {
        asked: wire.call(
            "Metadata", version, topics=[], include_cluster_authorized_operations=asked
        ).cluster_authorized_operations
        for asked in (False, True)
    }
    described = wire.call("DescribeCluster", include_cluster_authorized_operations=True)
    expected = {False: NOT_ASKED, True: described.cluster_authorized_operations}
    expect(told, expected, "operations by whether they were asked for")
    expect_that(told[True] >= 0, "operations", "bits", told[True])


@case("META-18", "Metadata", versions=(4, 13), spec="class MetadataCache", priority="P1")
def test_a_topic_once_visible_stays_visible(wire: Wire, version: int) -> None:
    """A topic that CreateTopics has made is soon in Metadata, and from then on in every answer of
    the same broker."""
    name = wire.new_name()
    topic = part(
        "CreateTopics", "CreatableTopic", name=name, num_partitions=2, replication_factor=1
    )
    wire.call("CreateTopics", topics=[topic], timeout_ms=20_000)
    eventually(
        lambda: wire.topic_metadata(name, version),
        lambda t: t.error_code == 0,
        f"{name} is visible",
    )
    later = [wire.topic_metadata(name, version) for _ in range(50)]
    expect(
        [(t.error_code, len(t.partitions)) for t in later],
        [(0, 2)] * 50,
        "(error, partitions) of fifty answers after the first",
    )


@case("META-21", "Metadata", versions=(13, 13), spec="KIP-1102", priority="P1")
def test_nobody_need_bootstrap_again(wire: Wire, version: int) -> None:
    """The top-level error (v13+), by which a broker may tell a client to bootstrap again, is NONE
    while the broker knows its cluster, even if a topic has an error."""
    answer = wire.call(
        "Metadata", version, topics=named(wire.new_name("missing")), allow_auto_topic_creation=False
    )
    expect(answer.error_code, ErrorCode.NONE, "error of the whole answer")
    expect(answer.topics[0].error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of the topic")
