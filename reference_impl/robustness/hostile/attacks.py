"""The attacks of hostile clients. Each needs only an address and the Kafka protocol."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from reference_impl.robustness.process import PATIENCE_S, Address, RawClient
from reference_impl.wire import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    ApiKey,
    Compression,
    ErrorCode,
    Record,
    RecordBatch,
    compress,
    encode_request,
    patched,
    request_definition,
)
from reference_impl.wire.batches.records import encode_records

CROWD = 20
PIPELINED_BYTES = 256 * 1024
TOPICS, PARTITIONS = 100, 10
BOMB_RECORDS = 18_000_000
LONG_RECORDS = 300_000
LARGE_BYTES = 120 << 20
LEAVERS, REQUESTS_BEHIND = 300, 5
NAMES, NAME_BYTES, NAMES_AT_ONCE = 3_000, 32_000, 20
UNFINISHED, UNFINISHED_BYTES = 40, 20 << 20
HELLOS = 1_800
SEGMENTS = 1_000
MEMBERS = 1_000
SHORT_SESSIONS: Mapping[str, str] = {
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
}
"""The broker's configuration with which sessions end while an attack waits for it."""
AT_ONCE = 100
"""The number of requests that a client sends before it reads their answers."""
MILLION = 1_000_000
"""The approximate size of a request in bytes."""
WIDTH = 1_000
SESSIONS = 30
SLOW_PATTERNS = (
    "(" * 40 + "(ab?)*" + "a|b)+" * 40,
    ".?" * 16_000,
    "(a?a?)*" * 4_000,
    r"\w?" * 8_000 + "x",
)


def wait_until(condition: Callable[[], bool], otherwise: str) -> None:
    """Return once the condition holds. Raise AssertionError if that takes far too long."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, otherwise
        time.sleep(0.1)


def many_topics(broker: Address) -> None:
    """Create many topics, so that a response to Metadata becomes large."""
    of = request_definition(ApiKey.CREATE_TOPICS)
    topics = [
        of.struct(
            "CreatableTopic", name=f"many-{n}", num_partitions=PARTITIONS, replication_factor=1
        )
        for n in range(TOPICS)
    ]
    with RawClient(broker) as client:
        client.call(ApiKey.CREATE_TOPICS, 7, topics=topics, timeout_ms=60_000)


def pipeline(broker: Address, seconds: float) -> None:
    """Let many clients send 256 KB of small requests with large responses at once, read for
    `seconds`, and disconnect with most of them unanswered."""
    body = request_definition(ApiKey.METADATA).new(topics=None)
    frame = encode_request(ApiKey.METADATA, 9, 1, "hostile", body)
    data = frame * (PIPELINED_BYTES // len(frame))
    stop = threading.Event()
    crowd = [
        threading.Thread(target=_send_and_read, args=(broker, data, stop)) for _ in range(CROWD)
    ]
    with _all_running(crowd, stop):
        time.sleep(seconds)


@contextlib.contextmanager
def _all_running(threads: list[threading.Thread], stop: threading.Event) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _send_and_read(broker: Address, data: bytes, stop: threading.Event) -> None:
    """Send the data, and read at the same time, until `stop` is set: a broker stops answering a
    client that does not read."""
    where = (broker.host, broker.port)
    with socket.create_connection(where, timeout=PATIENCE_S) as connection:
        connection.settimeout(0.2)
        left = memoryview(data)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                if left:
                    left = left[connection.send(left) :]
                if not connection.recv(1 << 20):
                    return


def batch_of(payload: bytes, count: int, codec: Compression) -> bytes:
    """Return a batch with a correct header and this payload, compressed."""
    packed = RecordBatch([Record(b"")]).encode()[:HEADER_BYTES] + compress(codec, payload)
    return patched(
        packed,
        batch_length=len(packed) - LOG_OVERHEAD,
        attributes=codec,
        records_count=count,
        last_offset_delta=count - 1,
    )


def wrong_bomb(codec: Compression = Compression.ZSTD) -> bytes:
    """Return eleven kilobytes (with zstd) that decompress to millions of tiny records, all with
    offset 0."""
    return batch_of(encode_records([Record(None)]) * BOMB_RECORDS, BOMB_RECORDS, codec)


def right_bomb(count: int = LONG_RECORDS) -> bytes:
    """Return a valid batch of `count` tiny records."""
    records = encode_records([Record(None, offset_delta=n) for n in range(count)])
    return batch_of(records, count, Compression.ZSTD)


def large_record() -> bytes:
    """Return a few kilobytes that decompress to one record of nearly the maximum size."""
    return batch_of(encode_records([Record(bytes(LARGE_BYTES))]), 1, Compression.ZSTD)


def produce(broker: Address, topic: str, raw: bytes) -> tuple[ErrorCode, float]:
    """Send a batch. Return (error code of the response, seconds until the response)."""
    of = request_definition(ApiKey.PRODUCE)
    row = of.struct("PartitionProduceData", index=0, records=raw)
    data = of.struct("TopicProduceData", name=topic, partition_data=[row])
    with RawClient(broker) as client:
        started_s = time.monotonic()
        answer = client.call(ApiKey.PRODUCE, 9, acks=-1, timeout_ms=60_000, topic_data=[data])
        waited_s = time.monotonic() - started_s
    return ErrorCode(answer.responses[0].partition_responses[0].error_code), waited_s


def produce_each(broker: Address, topic: str, batches: Sequence[bytes]) -> float:
    """Send each batch and ignore errors. Return the seconds of the slowest response."""
    return max(produce(broker, topic, raw)[1] for raw in batches)


def long_names(broker: Address) -> None:
    """Ask for topics with different names, all longer than a topic name may be."""
    of = request_definition(ApiKey.METADATA)
    with RawClient(broker) as client:
        for first in range(0, NAMES, NAMES_AT_ONCE):
            topics = [
                of.struct("MetadataRequestTopic", name=f"{first + n}{'n' * NAME_BYTES}")
                for n in range(NAMES_AT_ONCE)
            ]
            client.call(ApiKey.METADATA, 9, topics=topics, allow_auto_topic_creation=False)


def leave_waiting(broker: Address, topic: str) -> None:
    """Let many clients disconnect while a fetch of theirs waits, with further requests behind
    it."""
    for _ in range(LEAVERS):
        with RawClient(broker) as client:
            client.send_fetch(topic, max_wait_ms=3_600_000, min_bytes=1 << 30)
            for _ in range(REQUESTS_BEHIND):
                client.send(ApiKey.API_VERSIONS, 0)


def many_names(broker: Address) -> None:
    """Send requests of 1 MB that contain as many names, or partitions, as possible, each for a
    different API."""
    deletion = request_definition(ApiKey.DELETE_TOPICS)
    offsets = request_definition(ApiKey.LIST_OFFSETS)
    partitions = [
        offsets.struct("ListOffsetsPartition", partition_index=index, timestamp=-1)
        for index in range(MILLION // 17)
    ]
    rows = [offsets.struct("ListOffsetsTopic", name="none", partitions=partitions)]
    names = [f"none-{number:05}" for number in range(MILLION // 29)]
    bodies = {
        (ApiKey.DELETE_TOPICS, 6): {
            "topics": [deletion.struct("DeleteTopicState", name=name) for name in names],
            "timeout_ms": 1000,
        },
        (ApiKey.LIST_OFFSETS, 9): {"replica_id": -1, "topics": rows},
        (ApiKey.FIND_COORDINATOR, 4): {
            "key_type": 0,
            "coordinator_keys": [str(number) for number in range(MILLION // 7)],
        },
    }
    with RawClient(broker) as client:
        for (api, version), fields in bodies.items():
            client.call(api, version, **fields)


def many_partitions(broker: Address) -> None:
    """Create a topic with very many partitions, and delete it."""
    creation = request_definition(ApiKey.CREATE_TOPICS).struct(
        "CreatableTopic", name="wide", num_partitions=WIDTH, replication_factor=1
    )
    deletion = request_definition(ApiKey.DELETE_TOPICS).struct("DeleteTopicState", name="wide")
    with RawClient(broker) as client:
        client.call(ApiKey.CREATE_TOPICS, 7, topics=[creation], timeout_ms=60_000)
        client.call(ApiKey.DELETE_TOPICS, 6, topics=[deletion], timeout_ms=60_000)


def patterns(broker: Address) -> None:
    """Subscribe with regular expressions on which a backtracking matcher would never finish, and
    with some of the maximum length."""
    with RawClient(broker) as client:
        for number, pattern in enumerate(SLOW_PATTERNS):
            client.call(
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
                1,
                group_id=f"patterns-{number}",
                member_id=f"member-{number}",
                member_epoch=0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_regex=pattern,
                topic_partitions=[],
            )


def sessions(broker: Address, count: int = SESSIONS) -> None:
    """Begin fetch sessions of very many partitions, and abandon them."""
    of = request_definition(ApiKey.FETCH)
    partitions = [
        of.struct("FetchPartition", partition=index, partition_max_bytes=1)
        for index in range(MILLION // 33)
    ]
    topic = of.struct("FetchTopic", topic="none", partitions=partitions)
    with RawClient(broker) as client:
        for _ in range(count):
            client.call(ApiKey.FETCH, 12, session_epoch=0, max_bytes=1, topics=[topic])


def unfinished(broker: Address) -> None:
    """Begin large requests and never complete them; disconnect after a while."""
    with contextlib.ExitStack() as stack:
        for _ in range(UNFINISHED):
            client = stack.enter_context(RawClient(broker))
            client.socket.settimeout(0.5)  # the broker may stop reading, as it should
            with contextlib.suppress(TimeoutError, OSError):
                frame = struct.pack(">i", UNFINISHED_BYTES) + bytes(UNFINISHED_BYTES - 1)
                client.socket.sendall(frame)


def in_segments(client: RawClient, topic: str, count: int) -> None:
    """Create a topic, and fill it until its only partition has about this number of segments, each
    with a few files. Raise AssertionError if it takes no records."""
    of = request_definition(ApiKey.CREATE_TOPICS)
    configs = {"segment.ms": "1", "file.delete.delay.ms": "0", "retention.ms": "-1"}
    rows = [of.struct("CreatableTopicConfig", name=n, value=v) for n, v in configs.items()]
    creation = of.struct(
        "CreatableTopic", name=topic, num_partitions=1, replication_factor=1, configs=rows
    )
    client.call(ApiKey.CREATE_TOPICS, 7, topics=[creation], timeout_ms=60_000)
    # Apache opens the log of a new topic a little later.
    wait_until(lambda: client.produce(topic, "x").error_code == 0, f"{topic} takes no records")
    now_ms = int(time.time() * 1000)
    for first in range(0, count, AT_ONCE):
        for number in range(first, first + AT_ONCE):
            client.send_produce(topic, "x", base_timestamp=now_ms + 10 * number)
        for _ in range(AT_ONCE):
            client.receive()


def segments(broker: Address, count: int = SEGMENTS) -> None:
    """Create two topics, each with a partition of very many segments; delete the records of one,
    then both topics."""
    of = request_definition(ApiKey.DELETE_RECORDS)
    everything = of.struct("DeleteRecordsPartition", partition_index=0, offset=-1)
    emptied = of.struct("DeleteRecordsTopic", name="emptied", partitions=[everything])
    names = ["emptied", "dropped"]
    with RawClient(broker) as client:
        for name in names:
            in_segments(client, name, count)
        client.call(ApiKey.DELETE_RECORDS, 2, topics=[emptied], timeout_ms=60_000)
        client.call(ApiKey.DELETE_TOPICS, 5, topic_names=names, timeout_ms=60_000)


def ending_sessions(broker: Address, count: int = MEMBERS) -> None:
    """Let very many members join a consumer group and fall silent together, and wait until their
    sessions have ended. Raise AssertionError if a member is refused, or the sessions do not end."""
    with RawClient(broker) as client:
        sought = {"key_type": 0, "coordinator_keys": ["silent"]}
        wait_until(
            lambda: (
                not client.call(ApiKey.FIND_COORDINATOR, 4, **sought).coordinators[0].error_code
            ),
            "there is no coordinator",
        )
        epochs = []
        for number in range(count):
            answer = client.call(
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
                1,
                group_id="silent",
                member_id=f"member-{number}",
                member_epoch=0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["many-0"],
                topic_partitions=[],
            )
            assert answer.error_code == 0, f"member {number} gets error {answer.error_code}"
            epochs.append(answer.member_epoch)
        for number, epoch in enumerate(epochs):
            member = f"member-{number}"
            fields = {"group_id": "silent", "member_id": member, "member_epoch": epoch}
            client.send(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, number, **fields)
            if number >= AT_ONCE:
                client.receive()
        for _ in epochs[:AT_ONCE]:
            client.receive()
        asked = {"group_ids": ["silent"]}
        wait_until(
            lambda: not client.call(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, **asked).groups[0].members,
            "the sessions do not end",
        )


def hellos(listener: Address, count: int = HELLOS) -> None:
    """Let very many clients of a TLS listener send the same first message of a handshake at once,
    and never continue. Raise AssertionError if one gets no answer."""
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=listener.host).do_handshake()
    hello = outgoing.read()
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(RawClient(listener)) for _ in range(count)]
        for client in crowd:
            client.socket.sendall(hello)
        for client in crowd:
            assert client.socket.recv(1), "the listener does not begin the handshake"
