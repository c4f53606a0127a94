"""Fetch: how long it waits and how much it returns (KIP-74), to whom, in which version."""

from __future__ import annotations

import time

from conformance.case import case, expect, expect_that
from conformance.cases.fetch.test_fetch import filled
from conformance.clients.transactions import (
    READ_COMMITTED,
    Producer,
    batches_of,
    decoded,
    wait_until_ended,
)
from conformance.target.variants import SMALL_FETCHES
from conformance.wire import Wire, batch, part, request
from reference_impl.wire import Compression, ControlRecordType, ErrorCode, control_type

ALL = (4, 18)
NOBODY = 2**31 - 1
"""A node id that no cluster gives."""


@case("FETCH-07", "Fetch", versions=ALL, spec="FetchRequest.json, field MaxWaitMs", priority="P1")
def test_a_fetch_without_patience_is_answered_at_once(wire: Wire, version: int) -> None:
    """With max_wait_ms 0 a fetch is answered at once, however much min_bytes asks for."""
    topic = filled(wire, [b"a"])
    started = time.monotonic()
    for offset, has_records in ((0, True), (1, False)):
        answer = wire.fetch(topic, offset, version, max_wait_ms=0, min_bytes=1 << 20)
        expect(
            (answer.error_code, bool(bytes(answer.records or b""))),
            (0, has_records),
            f"(error, are there records) from offset {offset}",
        )
    took_s = time.monotonic() - started
    expect_that(took_s < 5, "two answers", "< 5 s", f"{took_s:.1f} s")


@case(
    "FETCH-43",
    "Fetch",
    versions=ALL,
    spec="KIP-74; class KafkaApis, handleFetchRequest: fetchMinBytes",
    priority="P1",
)
def test_min_bytes_beyond_max_bytes_do_not_keep_a_fetch_waiting(wire: Wire, version: int) -> None:
    """min_bytes above max_bytes counts as max_bytes: a fetch that has got as much as it may is
    answered at once, not after max_wait_ms."""
    topic = filled(wire, [b"x" * 2000])
    started = time.monotonic()
    answer = wire.fetch(topic, 0, version, max_bytes=1000, min_bytes=1 << 20, max_wait_ms=20_000)
    took_s = time.monotonic() - started
    expect([b.base_offset for b in batches_of(answer)], [0], "base offsets")
    expect_that(took_s < 10, "the answer", "< 10 s", f"{took_s:.1f} s")


@case("FETCH-11", "Fetch", versions=ALL, spec="KIP-74, Proposed Changes", priority="P1")
def test_no_partition_starves_when_the_client_rotates(wire: Wire, version: int) -> None:
    """Where max_bytes is enough for one partition, the one named first gets it: a client that
    rotates its list reads them all."""
    topic = wire.create_topic(partitions=3, on_one_broker=True)
    for index in range(3):
        wire.produce(topic, batch(b"%d" % index * 2000).encode(), partition=index)
    for turn in range(3):
        order = [(turn + step) % 3 for step in range(3)]
        asked = [
            part(
                "Fetch",
                "FetchPartition",
                partition=index,
                fetch_offset=0,
                partition_max_bytes=1 << 20,
            )
            for index in order
        ]
        entry = part("Fetch", "FetchTopic", topic=topic.name, topic_id=topic.id, partitions=asked)
        body = request("Fetch", max_wait_ms=0, min_bytes=1, max_bytes=1000, topics=[entry])
        answer = wire.leader(topic).call("Fetch", version, body)
        found = [
            p.partition_index
            for t in answer.responses
            for p in t.partitions
            if bytes(p.records or b"")
        ]
        expect(found, order[:1], f"partitions with records, asked for as {order}")


@case("FETCH-12", "Fetch", versions=ALL, spec="KIP-74; class FileRecords, slice", priority="P1")
def test_what_is_cut_off_is_the_rest_of_a_batch(wire: Wire, version: int) -> None:
    """A limit that falls inside a later batch is kept: the answer holds whole batches from the
    offset on, and at most the beginning of the next one behind them."""
    topic = filled(wire, *[[b"%d" % n * 300] for n in range(4)])
    whole = wire.bytes_from(topic, 0)
    size = len(whole) // 4
    limit = 2 * size + size // 2
    for offset in (0, 1):
        answer = wire.fetch(topic, offset, version, partition_max_bytes=limit)
        data, expected = bytes(answer.records), whole[offset * size :]
        allowed = {size, 2 * size, limit}
        expect_that(len(data) in allowed, "bytes", f"one of {sorted(allowed)}", len(data))
        expect_that(expected.startswith(data), "bytes", "those of the log in order", "others")


@case("FETCH-30", "Fetch", versions=(4, 9), spec="KIP-110, Compatibility", priority="P1")
def test_zstd_for_old_readers_is_refused_or_sent_as_it_is(wire: Wire, version: int) -> None:
    """A fetch before v10 from a topic with compression.type=zstd returns
    UNSUPPORTED_COMPRESSION_TYPE (76) without records, or the zstd batches unchanged, and nothing
    else; from v10 on it returns the batches."""
    # KIP-110 and the catalogue demand 76. Apache Kafka 4.3.1 no longer looks: it left the check out
    # together with the conversion of old message formats.
    # Before these versions there is no zstd.
    newest, produced = wire.version("Fetch", 10), wire.version("Produce", 7)
    topic = wire.create_topic(config={"compression.type": "zstd"})
    sent = batch(b"a", attributes=int(Compression.ZSTD)).encode()
    expect(wire.produce(topic, sent, produced).error_code, ErrorCode.NONE, "produce error")
    answer = wire.fetch(topic, 0, version)
    refused = answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    expect(answer.error_code, {ErrorCode.NONE, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE}, "error")
    found = [b.compression for b in batches_of(answer)]
    expect(found, [] if refused else [Compression.ZSTD], "codecs of the batches")
    newer = wire.fetch(topic, 0, newest)
    expect(newer.error_code, ErrorCode.NONE, "error from v10 on")
    expect([b.compression for b in batches_of(newer)], [Compression.ZSTD], "codecs from v10 on")


@case(
    "FETCH-35",
    "Fetch",
    versions=(14, 18),
    spec="KIP-903; FetchRequest.json, field ReplicaState",
    priority="P1",
)
def test_a_consumer_says_nothing_of_replicas(wire: Wire, version: int) -> None:
    """From v15 on a reader that omits replica_state is a consumer, like one with replica_id -1 in
    earlier versions: it sees records up to the high watermark, and in read_committed up to the last
    stable offset."""
    topic, producer = filled(wire, [b"a"]), Producer.ready(wire)
    producer.add_and_send(topic, b"open")
    plain = decoded(wire.bytes_from(topic, 0, version))
    expect([b.base_offset for b in plain], [0, 1], "base offsets")
    stable = decoded(wire.bytes_from(topic, 0, version, isolation_level=READ_COMMITTED))
    expect([b.base_offset for b in stable], [0], "base offsets of read_committed")


@case("FETCH-36", "Fetch", versions=ALL, spec="KIP-98, Control Messages", priority="P1")
def test_control_batches_are_delivered(wire: Wire, version: int) -> None:
    """Markers come to consumers of both isolation levels as batches with the control bit; skipping
    them is the client's part."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    producer.add_and_send(topic, b"a")
    producer.commit()
    wait_until_ended(wire, topic)
    for isolation in (0, READ_COMMITTED):
        found = decoded(wire.bytes_from(topic, 0, version, isolation_level=isolation))
        expect(
            [(b.base_offset, b.is_control) for b in found],
            [(0, False), (1, True)],
            f"(base offset, control bit), isolation level {isolation}",
        )
        kinds = [control_type(record) for record in found[1].records]
        expect(kinds, [ControlRecordType.COMMIT], "control records")


@case(
    "FETCH-34", "Fetch", versions=ALL, spec="class Partition, followerReplicaOrThrow", priority="P1"
)
def test_only_replicas_fetch_as_replicas(wire: Wire, version: int) -> None:
    """A fetch with the replica id of a broker that has no replica of the partition gets
    NOT_LEADER_OR_FOLLOWER (6), with a current leader epoch UNKNOWN_LEADER_EPOCH (75), and no
    records."""
    topic = filled(wire, [b"a"])
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    known = (-1, epoch) if version >= 9 else (-1,)
    for current in known:
        body = wire.fetch_request(topic, 0, current_leader_epoch=current)
        body.replica_id = body.replica_state.replica_id = NOBODY
        answer = wire.leader(topic).call("Fetch", version, body)
        found = answer.responses[0].partitions[0]
        expected = (
            ErrorCode.NOT_LEADER_OR_FOLLOWER if current == -1 else (ErrorCode.UNKNOWN_LEADER_EPOCH)
        )
        expect(found.error_code, expected, f"error with current leader epoch {current}")
        expect(bytes(found.records or b""), b"", "records")


@case(
    "FETCH-40",
    "Fetch",
    versions=ALL,
    spec="KIP-98; FetchResponse.json, AbortedTransactions",
    priority="P2",
)
def test_readers_of_committed_records_are_told_of_no_aborted_ones_by_an_empty_list(
    wire: Wire, version: int
) -> None:
    """A read_committed fetch gets a list of aborted transactions, which may be empty; a
    read_uncommitted fetch gets null or an empty list."""
    topic = filled(wire, [b"a"])
    for offset in (0, 1):
        for level in (0, READ_COMMITTED):
            told = wire.fetch(topic, offset, version, isolation_level=level).aborted_transactions
            expect_that(
                told == [] or (told is None and level != READ_COMMITTED),
                f"aborted transactions from {offset}, isolation level {level}",
                [] if level == READ_COMMITTED else "null or []",
                told,
            )


@case(
    "FETCH-38",
    "Fetch",
    versions=ALL,
    spec="KIP-541; fetch.max.bytes",
    priority="P2",
    config=SMALL_FETCHES,
)
def test_a_broker_limits_what_one_fetch_gets(wire: Wire, version: int) -> None:
    """However much a fetch asks for, its answer has no more bytes of records than the broker's
    fetch.max.bytes, apart from a first batch that is larger; a later fetch gets the last one."""
    limit = int(SMALL_FETCHES["fetch.max.bytes"])
    topic = filled(wire, *[[b"x" * (limit // 3)] for _ in range(6)])
    answer = wire.fetch(topic, 0, version)
    size = len(bytes(answer.records or b""))
    expect_that(0 < size <= limit, "bytes of the first answer", f"1 to {limit}", size)
    expect([b.base_offset for b in batches_of(wire.fetch(topic, 5, version))], [5], "last batch")
    large = filled(wire, [b"x" * (2 * limit)])
    size = len(bytes(wire.fetch(large, 0, version).records or b""))
    expect_that(size > 2 * limit, "bytes of a large first batch", f"> {2 * limit}", size)
