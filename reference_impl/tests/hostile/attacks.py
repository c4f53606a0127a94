"""The attacks of hostile clients. Each takes an address and needs nothing but the protocol."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence

from reference_impl.host.tests.process import PATIENCE_S, Address, RawClient
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
from reference_impl.wire.records import encode_records

CROWD = 20
PIPELINED_BYTES = 256 * 1024
TOPICS, PARTITIONS = 100, 10
BOMB_RECORDS = 18_000_000
LONG_RECORDS = 300_000
LARGE_BYTES = 120 << 20
LEAVERS, REQUESTS_BEHIND = 300, 5
NAMES, NAME_BYTES, NAMES_AT_ONCE = 3_000, 32_000, 20
UNFINISHED, UNFINISHED_BYTES = 40, 20 << 20


def many_topics(broker: Address) -> None:
    """Create what makes an answer to Metadata large."""
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
    """Let many clients send 256 KB of small requests with large answers at once, read for so long,
    and leave with most of it unanswered."""
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
    """Do both at once: who does not read is not answered any more."""
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
    """Return eleven kilobytes (zstd) that become millions of tiny records, all with offset 0."""
    return batch_of(encode_records([Record(None)]) * BOMB_RECORDS, BOMB_RECORDS, codec)


def right_bomb(count: int = LONG_RECORDS) -> bytes:
    """Return a valid batch of many tiny records."""
    records = encode_records([Record(None, offset_delta=n) for n in range(count)])
    return batch_of(records, count, Compression.ZSTD)


def large_record() -> bytes:
    """Return some kilobytes that become one record of nearly the largest size."""
    return batch_of(encode_records([Record(bytes(LARGE_BYTES))]), 1, Compression.ZSTD)


def produce(broker: Address, topic: str, raw: bytes) -> tuple[ErrorCode, float]:
    """Send a batch; its error, and the seconds until the answer."""
    of = request_definition(ApiKey.PRODUCE)
    row = of.struct("PartitionProduceData", index=0, records=raw)
    data = of.struct("TopicProduceData", name=topic, partition_data=[row])
    with RawClient(broker) as client:
        started_s = time.monotonic()
        answer = client.call(ApiKey.PRODUCE, 9, acks=-1, timeout_ms=60_000, topic_data=[data])
        waited_s = time.monotonic() - started_s
    return ErrorCode(answer.responses[0].partition_responses[0].error_code), waited_s


def produce_each(broker: Address, topic: str, batches: Sequence[bytes]) -> None:
    """Send each batch, whatever becomes of it."""
    for raw in batches:
        produce(broker, topic, raw)


def long_names(broker: Address) -> None:
    """Ask for topics whose names are longer than any name may be, each another one."""
    of = request_definition(ApiKey.METADATA)
    with RawClient(broker) as client:
        for first in range(0, NAMES, NAMES_AT_ONCE):
            topics = [
                of.struct("MetadataRequestTopic", name=f"{first + n}{'n' * NAME_BYTES}")
                for n in range(NAMES_AT_ONCE)
            ]
            client.call(ApiKey.METADATA, 9, topics=topics, allow_auto_topic_creation=False)


def leave_waiting(broker: Address, topic: str) -> None:
    """Let many clients leave while a fetch of theirs waits, with requests behind it."""
    for _ in range(LEAVERS):
        with RawClient(broker) as client:
            client.send_fetch(topic, max_wait_ms=3_600_000, min_bytes=1 << 30)
            for _ in range(REQUESTS_BEHIND):
                client.send(ApiKey.API_VERSIONS, 0)


def unfinished(broker: Address) -> None:
    """Begin large requests that never come to their end; their clients leave after a while."""
    with contextlib.ExitStack() as stack:
        for _ in range(UNFINISHED):
            client = stack.enter_context(RawClient(broker))
            client.socket.settimeout(0.5)  # the broker may stop reading, and that is right
            with contextlib.suppress(TimeoutError, OSError):
                frame = struct.pack(">i", UNFINISHED_BYTES) + bytes(UNFINISHED_BYTES - 1)
                client.socket.sendall(frame)
