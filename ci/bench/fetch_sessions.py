"""Measure whether a fetch session costs more the more partitions it has."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Struct, decode_response, request_definition

FEW, MANY = 20, 1000
ROUNDS = 400
WAIT_MS = 5_000


class Waiting:
    """A client with a fetch session, whose Fetch waits for data of any partition of a topic."""

    def __init__(self, broker: BrokerProcess, client: RawClient, partitions: int) -> None:
        self._client, self._topic = client, f"of-{partitions}"
        self._reader = RawClient(broker)
        of = request_definition(ApiKey.CREATE_TOPICS)
        topic = of.struct(
            "CreatableTopic", name=self._topic, num_partitions=partitions, replication_factor=1
        )
        answer = client.call(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=60_000)
        assert not answer.topics[0].error_code, answer
        self._id = self._epoch = 0
        first = self._fetch(dict.fromkeys(range(partitions), 0), 0)
        self._id, self._epoch = first.session_id, 1
        assert self._id, "the broker gives no session"
        self._fetch({}, 0)
        self._read_up_to = 0

    def woken_ms(self) -> float:
        """Append a record while a fetch of the session waits. Return the milliseconds from sending
        the fetch to its answer."""
        started = time.monotonic()
        self._send({0: self._read_up_to} if self._read_up_to else {}, WAIT_MS)
        self._client.produce(self._topic, "x")
        answer = self._receive()
        assert answer.responses[0].partitions[0].records, "the append woke nobody"
        self._read_up_to += 1
        return (time.monotonic() - started) * 1000

    def close(self) -> None:
        self._reader.socket.close()

    def _fetch(self, offsets: Mapping[int, int], wait_ms: int) -> Struct:
        self._send(offsets, wait_ms)
        return self._receive()

    def _send(self, offsets: Mapping[int, int], wait_ms: int) -> None:
        of = request_definition(ApiKey.FETCH)
        rows = [
            of.struct(
                "FetchPartition", partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            for index, offset in offsets.items()
        ]
        topics = [of.struct("FetchTopic", topic=self._topic, partitions=rows)] if rows else []
        self._reader.send(
            ApiKey.FETCH,
            12,
            session_id=self._id,
            session_epoch=self._epoch,
            min_bytes=1,
            max_wait_ms=wait_ms,
            topics=topics,
        )

    def _receive(self) -> Struct:
        frame = self._reader.receive()
        assert frame is not None, "the broker closed the connection"
        self._epoch += 1
        return decode_response(frame, ApiKey.FETCH, 12)[1]


def many_to_few(data: Path) -> float:
    """Return the ratio of the time of a waiting fetch in a session of 1,000 partitions to that in a
    session of 20. Measure both in turn, so that noise affects them alike."""
    with _both(data) as (few, many):
        rounds = [(few.woken_ms(), many.woken_ms()) for _ in range(ROUNDS)]
    return statistics.median(m for _, m in rounds) / statistics.median(f for f, _ in rounds)


@contextmanager
def _both(data: Path) -> Iterator[tuple[Waiting, Waiting]]:
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        both = Waiting(broker, client, FEW), Waiting(broker, client, MANY)
        yield both
        for each in both:
            each.close()
