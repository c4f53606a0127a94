"""Leaders that die, leave, or fall behind: what the others keep, and who leads next."""

from __future__ import annotations

import time
from itertools import count
from threading import Event, Thread

from chaos.values.faults import Heal, Kill, Pause, Shutdown
from chaos.world import joined
from conformance.case import case, expect, expect_that
from conformance.cases.cluster.test_elections import PREFERRED, elect, errors_of, reassign
from conformance.cases.cluster.test_lost_brokers import (
    RETURN_S,
    lost,
    produced,
    replicated,
    two_brokers,
)
from conformance.target.examination import Examined
from conformance.wire import ConnectionClosed, Topic, Wire, batch, eventually
from reference_impl.wire import ErrorCode, Struct

NOBODY = -1
HANDED_OVER_S = 20.0
"""The longest time without an acknowledgement while a leader shuts down cleanly."""
PAUSE_S = 0.02
MOVING = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)
"""Answers of a partition whose leadership moves, after which a client asks again."""


class Writer:
    """Sends one record after the other with acks=all, while something happens to the brokers."""

    def __init__(self, wire: Wire, topic: Topic, version: int) -> None:
        self.acknowledged: list[bytes] = []
        self.longest_s = 0.0
        """The longest time between two acknowledgements."""
        self.failure: object = None
        self._wire, self._topic, self._version = wire, topic, version
        self._stop = Event()
        self._thread = Thread(target=self._write, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._wire.close()

    def _write(self) -> None:
        since = time.monotonic()
        for number in count():
            if self._stop.wait(PAUSE_S):
                return
            try:
                answer = produced(self._wire, self._topic, self._version, b"%d" % number, 20_000)
            except (OSError, ConnectionClosed):
                self._wire.forget_connections()
                continue
            if answer.error_code == ErrorCode.NONE:
                now = time.monotonic()
                self.longest_s, since = max(self.longest_s, now - since), now
                self.acknowledged.append(b"%d" % number)
            elif answer.error_code not in MOVING:
                self.failure = ErrorCode(answer.error_code)
                return


def three_brokers(wire: Wire) -> tuple[int, int, int]:
    """Return the broker that is asked, and two others, which may be lost one after the other."""
    asked, last = two_brokers(wire)
    between = next(node for node in wire.brokers() if node not in (asked, last))
    return asked, between, last


def partition_of(wire: Wire, topic: Topic) -> Struct:
    """Return the partition as Metadata tells it."""
    return wire.topic_metadata(topic.name).partitions[0]  # type: ignore[no-any-return]


@case(
    "REPL-01",
    "Produce",
    versions=(3, 13),
    spec="KIP-101; class ReplicationControlManager, handleBrokerFenced",
    requires=["restart"],
)
def test_a_new_leader_has_every_acknowledged_record(
    wire: Wire, version: int, examined: Examined
) -> None:
    """Where the leader of three replicas dies, one of the ISR leads in a greater leader epoch, has
    every record that was acknowledged with acks=all, in its place, and takes the next one; until
    then Produce gets an error that clients retry (3, 5, 6, 19 or 56)."""
    asked, between, last = three_brokers(wire)
    topic = replicated(wire, [last, asked, between], min_insync_replicas="2")
    values = [b"%d" % number for number in range(20)]
    for value in values:
        expect(produced(wire, topic, version, value, 20_000).error_code, ErrorCode.NONE, "error")
    before = partition_of(wire, topic)
    expect(before.leader_id, last, "leader at first")
    with lost(examined, wire, topic, Kill(last)):
        after = eventually(
            lambda: partition_of(wire, topic),
            lambda p: p.error_code == 0 and p.leader_id not in (NOBODY, last),
            "another leader",
            RETURN_S,
        )
        expect(after.leader_id, {asked, between}, "leader")
        expect_that(
            after.leader_epoch > before.leader_epoch,
            "leader epoch",
            f"> {before.leader_epoch}",
            after.leader_epoch,
        )
        eventually(
            lambda: produced(wire, topic, version, b"next", 20_000).error_code,
            lambda error: error not in MOVING,
            "the new leader takes a record",
            RETURN_S,
        )
        expect(wire.values(topic), [*values, b"next"], "records of the new leader")


@case(
    "REPL-02",
    "Metadata",
    versions=(1, 13),
    spec="KIP-106; class PartitionChangeBuilder, electLeader",
    priority="P1",
    requires=["restart"],
)
def test_a_replica_that_lacks_records_does_not_lead(
    wire: Wire, version: int, examined: Examined
) -> None:
    """Without unclean elections a partition whose ISR is dead has no leader (leader -1, error
    LEADER_NOT_AVAILABLE, 5), though another replica lives; when the ISR is back it leads, and every
    acknowledged record is there."""
    _, between, last = three_brokers(wire)
    configs = {"min_insync_replicas": "1", "unclean_leader_election_enable": "false"}
    topic = replicated(wire, [last, between], **configs)
    newest = wire.version("Produce")
    expect(produced(wire, topic, newest, b"a", 20_000).error_code, ErrorCode.NONE, "error")

    def told() -> tuple[int, int]:
        found = wire.topic_metadata(topic.name, version).partitions[0]
        return int(found.error_code), int(found.leader_id)

    with lost(examined, wire, topic, Kill(between)):
        eventually(
            lambda: list(partition_of(wire, topic).isr_nodes),
            lambda isr: isr == [last],
            "the ISR is without the dead one",
            RETURN_S,
        )
        expect(produced(wire, topic, newest, b"b", 20_000).error_code, ErrorCode.NONE, "error")
        examined.cluster.perform(Kill(last))
        examined.start_again(between)
        eventually(wire.brokers, lambda found: set(found) >= {between}, "it is back", RETURN_S)
        nobody = (int(ErrorCode.LEADER_NOT_AVAILABLE), NOBODY)
        eventually(
            told, lambda found: found == nobody, f"(error, leader) become {nobody}", RETURN_S
        )
        eventually(
            wire.brokers,
            lambda found: between in found and last not in found,
            "only the replica that lacks records lives",
            RETURN_S,
        )
        expect(told(), nobody, "(error, leader) while it lives")
    expect(wire.values(topic), [b"a", b"b"], "records afterwards")


@case(
    "REPL-07",
    "Metadata",
    versions=(1, 13),
    spec="KIP-497; class Partition, maybeShrinkIsr",
    priority="P1",
    requires=["restart"],
)
def test_the_isr_shrinks_and_grows_and_the_high_watermark_only_grows(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A replica that falls silent leaves the ISR, and returns to it once it has all records;
    meanwhile the high watermark in answers to consumers never falls."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other], min_insync_replicas="1")
    newest, seen = wire.version("Produce"), [0]
    expect(produced(wire, topic, newest, b"a", 20_000).error_code, ErrorCode.NONE, "error")

    def isr() -> list[int]:
        seen.append(int(wire.fetch(topic, 0).high_watermark))
        return sorted(wire.topic_metadata(topic.name, version).partitions[0].isr_nodes)

    with lost(examined, wire, topic, Pause(other)):
        eventually(isr, lambda found: found == [asked], "the silent one leaves the ISR", RETURN_S)
        answer = produced(wire, topic, newest, b"b", 20_000)
        expect(answer.error_code, ErrorCode.NONE, "error without the silent one")
        isr()
        examined.cluster.perform(Heal())
        both = sorted([asked, other])
        eventually(isr, lambda found: found == both, "it is in sync again", RETURN_S)
    isr()
    expect(seen, sorted(seen), "high watermarks, in the order of the answers")
    expect(seen[-1], 2, "high watermark at the end")


@case(
    "REPL-07",
    "Metadata",
    versions=(13, 13),
    spec="KIP-966, Strict min ISR; class Partition, maybeIncrementLeaderHW",
    priority="P1",
    requires=["restart"],
)
def test_the_high_watermark_stands_still_under_the_minimum_in_sync(
    wire: Wire, version: int, examined: Examined
) -> None:
    """While the ISR is smaller than min.insync.replicas the high watermark stands still: consumers
    do not receive a record that the leader alone has acknowledged (acks=1) until enough replicas
    are in sync again."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked, other], min_insync_replicas="2")
    newest = wire.version("Produce")
    expect(produced(wire, topic, newest, b"a", 20_000).error_code, ErrorCode.NONE, "error")
    with lost(examined, wire, topic, Pause(other)):
        eventually(
            lambda: list(wire.topic_metadata(topic.name, version).partitions[0].isr_nodes),
            lambda isr: isr == [asked],
            "the silent one leaves the ISR",
            RETURN_S,
        )
        for offset, value in enumerate((b"b", b"c"), 1):
            alone = wire.produce(topic, batch(value).encode(), acks=1)
            expect((alone.error_code, alone.base_offset), (ErrorCode.NONE, offset), "(error, at)")
            read = wire.fetch(topic, 1)
            expect(
                (read.high_watermark, bytes(read.records or b"")), (1, b""), "(HW, records) read"
            )
    eventually(lambda: wire.values(topic), lambda v: v == [b"a", b"b", b"c"], "records afterwards")


@case(
    "REPL-09",
    "Produce",
    versions=(3, 13),
    spec="class BrokerLifecycleManager, beginControlledShutdown",
    priority="P1",
    requires=["restart"],
)
def test_a_broker_that_leaves_in_good_order_hands_over_its_leadership(
    wire: Wire, version: int, examined: Examined
) -> None:
    """While the leader shuts down cleanly (SIGTERM) another of the ISR takes over: every
    acknowledged record is kept, in its place, and no 20 s pass without another acknowledgement."""
    asked, between, last = three_brokers(wire)
    topic = replicated(wire, [last, asked, between], min_insync_replicas="2")
    writing = Writer(Wire(examined.bootstrap, examined.advertised), topic, version)
    with writing as writer, lost(examined, wire, topic, Shutdown(last)):
        expect(partition_of(wire, topic).leader_id, {asked, between}, "leader")
        so_far = len(writer.acknowledged)
        eventually(lambda: len(writer.acknowledged), lambda n: n > so_far, "it takes records")
    expect(writer.failure, None, "failure of the writer")
    expect_that(
        writer.longest_s < HANDED_OVER_S,
        "longest time without an acknowledgement",
        f"< {HANDED_OVER_S:g} s",
        f"{writer.longest_s:.1f} s",
    )
    kept = set(writer.acknowledged)
    found = [value for value in wire.values(topic) if value in kept]
    expect(found, writer.acknowledged, "records that were acknowledged")


@case("PROD-26", "Produce", versions=(3, 13), spec="KIP-101; KIP-951", priority="P2")
def test_a_producer_follows_a_leader_that_moves(wire: Wire, version: int) -> None:
    """While the leadership moves from one living replica to another, Produce gets no error but one
    that clients retry (3, 5, 6, 19 or 56); at the new leader it succeeds, and every record that was
    acknowledged is there, in the order of the acknowledgements."""
    asked, between, last = three_brokers(wire)
    topic = replicated(wire, [last, asked, between], min_insync_replicas="2")
    addresses = ",".join(joined(address) for address in wire.brokers().values())
    with Writer(Wire(addresses, wire.advertised), topic, version) as writer:
        for replicas in ([asked, last, between], [between, asked, last]):
            wait_for_more(writer)
            move_leadership(wire, topic, replicas)
            wait_for_more(writer)
    expect(writer.failure, None, "failure of the writer")
    kept = set(writer.acknowledged)
    found = [value for value in wire.values(topic) if value in kept]
    expect(found, writer.acknowledged, "records that were acknowledged")


def wait_for_more(writer: Writer) -> None:
    """Wait until the writer has three more acknowledgements, or has failed."""
    wanted = len(writer.acknowledged) + 3
    eventually(
        lambda: writer.failure is not None or len(writer.acknowledged) >= wanted,
        bool,
        f"{wanted} records are acknowledged",
        RETURN_S,
    )


def move_leadership(wire: Wire, topic: Topic, replicas: list[int]) -> None:
    """Put the partition's replicas into this order, and wait until the first of them leads."""
    version = wire.version("AlterPartitionReassignments")
    expect(reassign(wire, version, topic.name, replicas), ErrorCode.NONE, "error of the order")
    answer = elect(wire, wire.version("ElectLeaders"), PREFERRED, {topic.name: [0]})
    # A controller may have elected it by itself meanwhile (auto.leader.rebalance.enable).
    done = {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED}
    expect(errors_of(answer)[topic.name][0][1], done, "error of the election")
    eventually(
        lambda: partition_of(wire, topic).leader_id,
        lambda leader: leader == replicas[0],
        "the new leader",
        RETURN_S,
    )
