"""A cluster that loses a broker: what Metadata tells, and what becomes of records that the others
do not have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from chaos.values.faults import Fault, Heal, Kill, Pause
from conformance.case import Unsupported, case, expect, expect_that
from conformance.clients.transactions import batches_of
from conformance.target.examination import Examined
from conformance.wire import Topic, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, Struct

RETURN_S = 60.0
TIMEOUT_MS = 700
"""The time of a Produce that a silent follower holds up: shorter than any ISR takes to shrink."""
UNDECIDED = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND})


def two_brokers(wire: Wire) -> tuple[int, int]:
    """Return the id of the broker that is asked, and of another one, which may be lost. Raise
    Unsupported with fewer than three brokers, since two have no majority without it."""
    found = wire.brokers()
    if len(found) < 3:
        raise Unsupported("the case needs a target of three brokers")
    asked = next(node for node, address in found.items() if address == wire.addresses[0])
    return asked, max(node for node in found if node != asked)


def replicated(wire: Wire, replicas: list[int], **configs: str) -> Topic:
    """Create a topic of one partition on these brokers, the first of which leads, and wait until
    all of them are in sync."""
    name = wire.new_name()
    creatable = part(
        "CreateTopics",
        "CreatableTopic",
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            part(
                "CreateTopics", "CreatableReplicaAssignment", partition_index=0, broker_ids=replicas
            )
        ],
        configs=[
            part("CreateTopics", "CreatableTopicConfig", name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    answer = wire.call("CreateTopics", topics=[creatable], timeout_ms=20_000)
    expect(answer.topics[0].error_code, ErrorCode.NONE, f"error of CreateTopics {name}")
    topic = wire.wait_for_topic(name, 1)
    wait_for_isr(wire, topic, replicas)
    return topic


def wait_for_isr(wire: Wire, topic: Topic, replicas: list[int]) -> None:
    """Wait until these replicas are in sync, according to every broker."""
    for connection in wire.everywhere():
        eventually(
            lambda asked=connection: wire.topic_metadata(topic.name, connection=asked),  # type: ignore[misc]
            lambda t: sorted(t.partitions[0].isr_nodes) == sorted(replicas),
            f"{replicas} are in sync",
            RETURN_S,
        )


@contextmanager
def lost(examined: Examined, wire: Wire, topic: Topic, fault: Fault) -> Iterator[None]:
    """Take a broker away, and bring it back afterwards, in sync again."""
    replicas = list(wire.topic_metadata(topic.name).partitions[0].replica_nodes)
    examined.cluster.perform(fault)
    try:
        yield
    finally:
        examined.cluster.perform(Heal())
        wire.forget_connections()
        # Kafka 4.3 opens the listener of clients after the broker is in everybody's Metadata.
        eventually(examined.cluster.alive, bool, "every broker answers", RETURN_S)
        brokers = examined.cluster.nodes
        eventually(wire.brokers, lambda found: len(found) == brokers, "all brokers", RETURN_S)
        wait_for_isr(wire, topic, replicas)


def produced(wire: Wire, topic: Topic, version: int, value: bytes, timeout_ms: int) -> Struct:
    """Produce one record with acks=all, and return the partition's answer."""
    body = wire.produce_request(topic, batch(value).encode())
    body.timeout_ms = timeout_ms
    answer = wire.leader(topic).call("Produce", version, body)
    return answer.responses[0].partition_responses[0]  # type: ignore[no-any-return]


@case(
    "META-19",
    "Metadata",
    versions=(1, 13),
    spec="KIP-101; class KRaftMetadataCache",
    priority="P1",
    requires=["restart"],
)
def test_a_dead_broker_leaves_metadata_and_its_partitions_get_other_leaders(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A broker that died is no longer listed in Metadata; another replica leads its partitions, in
    a greater leader epoch, and their ISR does not contain it."""
    # Version 0 has REPLICA_NOT_AVAILABLE (9) for such a partition, and leaves the dead one out.
    asked, other = two_brokers(wire)
    topic = replicated(wire, [other, asked], min_insync_replicas="1")
    before = wire.topic_metadata(topic.name).partitions[0]
    expect(before.leader_id, other, "leader at first")
    with lost(examined, wire, topic, Kill(other)):

        def told() -> Struct:
            return wire.topic_metadata(topic.name, version).partitions[0]  # type: ignore[no-any-return]

        after = eventually(told, lambda p: p.leader_id == asked, "another leader", RETURN_S)
        expect(after.error_code, ErrorCode.NONE, "error of the partition")
        expect(list(after.isr_nodes), [asked], "ISR")
        expect(sorted(after.replica_nodes), sorted([asked, other]), "replicas")
        if version >= 5:
            expect(list(after.offline_replicas), [other], "offline replicas")
        if version >= 7:
            expect_that(
                after.leader_epoch > before.leader_epoch,
                "leader epoch",
                f"> {before.leader_epoch}",
                after.leader_epoch,
            )
        brokers = wire.call("Metadata", version, topics=[]).brokers
        expect(other in {broker.node_id for broker in brokers}, False, "the dead one is a broker")


@case("META-20", "Metadata", spec="class KRaftMetadataCache", priority="P1", requires=["restart"])
def test_a_partition_whose_only_replica_died_has_no_leader(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A partition without a living replica has the error LEADER_NOT_AVAILABLE (5) and leader -1;
    its topic has no error."""
    _, other = two_brokers(wire)
    topic = replicated(wire, [other])
    with lost(examined, wire, topic, Kill(other)):

        def told() -> tuple[int, int, int]:
            found = wire.topic_metadata(topic.name, version)
            return (found.error_code, found.partitions[0].error_code, found.partitions[0].leader_id)

        expected = (0, int(ErrorCode.LEADER_NOT_AVAILABLE), -1)
        eventually(told, lambda t: t == expected, f"(errors, leader) become {expected}", RETURN_S)


@case(
    "PROD-12",
    "Produce",
    versions=(3, 13),
    spec="class DelayedProduce; ProduceRequest.json, field TimeoutMs",
    priority="P1",
    requires=["restart"],
)
def test_what_a_replica_in_sync_does_not_have_is_neither_acknowledged_nor_read(
    wire: Wire, version: int, examined: Examined
) -> None:
    """With acks=all a record that a replica of the ISR does not fetch gets REQUEST_TIMED_OUT (7)
    after timeout_ms, and no consumer reads it before the high watermark has passed it; later it is
    committed, once."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other], min_insync_replicas="1")
    expect(produced(wire, topic, version, b"a", 20_000).error_code, ErrorCode.NONE, "error")
    with lost(examined, wire, topic, Pause(other)):
        began = time.monotonic()
        found = produced(wire, topic, version, b"b", TIMEOUT_MS)
        took_ms = (time.monotonic() - began) * 1000
        still = list(wire.topic_metadata(topic.name).partitions[0].isr_nodes)
        read = wire.fetch(topic, 1)
        if other not in still:
            raise Unsupported("the silent broker left the ISR sooner than it could be asked")
        expect(found.error_code, ErrorCode.REQUEST_TIMED_OUT, "error")
        expect_that(took_ms >= TIMEOUT_MS, "time of the answer", f">= {TIMEOUT_MS} ms", took_ms)
        expect((read.high_watermark, bytes(read.records or b"")), (1, b""), "(HW, records) read")
    eventually(lambda: wire.values(topic), lambda v: v == [b"a", b"b"], "records afterwards")


@case(
    "PROD-11",
    "Produce",
    versions=(3, 13),
    spec="class Partition, checkEnoughReplicasReachOffset; KIP-966",
    priority="P1",
    requires=["restart"],
)
def test_an_isr_that_shrinks_below_the_minimum_acknowledges_nothing(
    wire: Wire, version: int, examined: Examined
) -> None:
    """With acks=all a record whose ISR shrinks under min.insync.replicas after the append gets
    NOT_ENOUGH_REPLICAS_AFTER_APPEND (20) or REQUEST_TIMED_OUT (7), and is not read; the next one
    gets NOT_ENOUGH_REPLICAS (19) and is never appended."""
    # With eligible leader replicas the high watermark stands still under the minimum, so that
    # Kafka 4.3.1 answers 7; before KIP-966 it passed the record, and the answer was 20.
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other], min_insync_replicas="2")
    with lost(examined, wire, topic, Pause(other)):
        found = produced(wire, topic, version, b"a", 20_000)
        expect(found.error_code, UNDECIDED, "error of what was appended")
        isr = list(wire.topic_metadata(topic.name).partitions[0].isr_nodes)
        if isr != [asked]:
            raise Unsupported("the silent broker stays in the ISR for longer than 20 s")
        refused = produced(wire, topic, version, b"b", 20_000)
        expect(refused.error_code, ErrorCode.NOT_ENOUGH_REPLICAS, "error under the minimum")
        expect(wire.fetch(topic, 0).high_watermark, {0, 1}, "high watermark")
    eventually(lambda: wire.values(topic), lambda v: v == [b"a"], "records afterwards")


@case(
    "FETCH-33",
    "Fetch",
    versions=(4, 18),
    spec="documentation#design, Replication; class Partition, fetchRecords",
    priority="P1",
    requires=["restart"],
)
def test_consumers_get_nothing_above_the_high_watermark(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A record that the leader alone acknowledged (acks=1), and another replica of the ISR does not
    have, is not read, and the high watermark stands before it; it is read once the other has it."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other], min_insync_replicas="1")
    expect(wire.produce(topic, batch(b"a").encode()).error_code, ErrorCode.NONE, "error")
    with lost(examined, wire, topic, Pause(other)):
        alone = wire.produce(topic, batch(b"b").encode(), acks=1)
        expect((alone.error_code, alone.base_offset), (ErrorCode.NONE, 1), "(error, offset)")
        found = [wire.fetch(topic, offset, version) for offset in (0, 1)]
        still = list(wire.topic_metadata(topic.name).partitions[0].isr_nodes)
        if other not in still:
            raise Unsupported("the silent broker left the ISR sooner than it could be asked")
        expect([row.high_watermark for row in found], [1, 1], "high watermarks")
        expect(bytes(found[1].records or b""), b"", "records above the high watermark")
        expect(len(batches_of(found[0])), 1, "batches from the beginning on")
    eventually(lambda: wire.values(topic), lambda v: v == [b"a", b"b"], "records afterwards")


@case(
    "FETCH-32",
    "Fetch",
    versions=(11, 18),
    spec="KIP-392; class ReplicaManager, readFromLog",
    priority="P1",
)
def test_a_follower_serves_consumers_up_to_its_high_watermark(wire: Wire, version: int) -> None:
    """From v11 on a consumer may fetch from a follower: it gets the committed records, and beyond
    the end OFFSET_OUT_OF_RANGE (1) or OFFSET_NOT_AVAILABLE (78)."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other])
    sent = batch(b"a", b"b").encode()
    expect(wire.produce(topic, sent).error_code, ErrorCode.NONE, "produce error")
    follower = wire.broker(other)

    def read(offset: int) -> Struct:
        answer = follower.call("Fetch", version, wire.fetch_request(topic, offset))
        expect(answer.error_code, ErrorCode.NONE, "error of the answer")
        return answer.responses[0].partitions[0]  # type: ignore[no-any-return]

    found = eventually(
        lambda: read(0), lambda p: p.error_code or p.records, "the follower has the records"
    )
    expect(found.error_code, ErrorCode.NONE, "error")
    expect(bytes(found.records)[21:], sent[21:], "what the CRC covers")
    expect(found.high_watermark, 2, "high watermark")
    beyond = (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_NOT_AVAILABLE)
    past = read(7)
    expect(past.error_code, frozenset(beyond), "error beyond the end")
    expect(bytes(past.records or b""), b"", "records beyond the end")


@case(
    "FETCH-31",
    "Fetch",
    versions=(11, 18),
    spec="KIP-392; class RackAwareReplicaSelector",
    priority="P1",
)
def test_a_leader_names_the_replica_in_the_rack_of_the_consumer(wire: Wire, version: int) -> None:
    """Where brokers choose replicas by rack, the leader answers a consumer of a follower's rack
    with that follower as preferred read replica and without records, and the follower has them; a
    consumer of the leader's own rack, or of none, gets the records from the leader."""
    asked, other = two_brokers(wire)
    racks = {broker.node_id: broker.rack for broker in wire.call("Metadata", topics=[]).brokers}
    if not chooses_by_rack(wire, asked) or racks[asked] == racks[other] or not racks[other]:
        raise Unsupported("the brokers do not choose replicas by rack, or are in one rack")
    topic = replicated(wire, [asked, other])
    expect(wire.produce(topic, batch(b"a").encode()).error_code, ErrorCode.NONE, "produce error")

    def read(broker: int, rack: str) -> tuple[int, int, bool]:
        body = wire.fetch_request(topic, 0)
        body.rack_id = rack
        row = wire.broker(broker).call("Fetch", version, body).responses[0].partitions[0]
        return row.error_code, row.preferred_read_replica, bool(row.records)

    far = racks[other]
    eventually(lambda: read(asked, far), lambda r: r == (0, other, False), "the leader's answer")
    eventually(lambda: read(other, far), lambda r: r == (0, -1, True), "the follower's answer")
    for rack in (racks[asked], ""):
        expect(read(asked, rack), (0, -1, True), f"(error, preferred, records) for rack {rack!r}")


def chooses_by_rack(wire: Wire, node: int) -> bool:
    """Return whether a broker says that it chooses replicas by rack."""
    wanted = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=4,
        resource_name=str(node),
        configuration_keys=["replica.selector.class"],
    )
    version = wire.version("DescribeConfigs")
    answer = wire.broker(node).call("DescribeConfigs", version, resources=[wanted])
    values = [config.value for result in answer.results for config in result.configs]
    return any("RackAwareReplicaSelector" in (value or "") for value in values)
