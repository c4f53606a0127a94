"""What hostile clients send. Each attack takes an address and needs nothing but the protocol."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from reference_impl.host.tests.process import PATIENCE_S, Address, RawClient
from reference_impl.wire import ApiKey, encode_request, request_definition

CROWD = 20
PIPELINED_BYTES = 256 * 1024
TOPICS, PARTITIONS = 100, 10


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
    """Many clients send 256 KB of small requests with large answers at once, read what comes for
    so long, and go away with most of it unanswered."""
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
