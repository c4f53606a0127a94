"""Run a broker in its own process, as a user starts it, and talk to it with a raw client."""

from __future__ import annotations

import select
import socket
import struct
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from reference_impl.robustness.conversation import end_of
from reference_impl.wire import (
    ApiKey,
    Record,
    RecordBatch,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

PATIENCE_S = 60


class Address(Protocol):
    """The address of a broker."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


class BrokerProcess:
    """A process `python -m reference_impl.host`; creating it waits until it is ready, unless told
    not to. Its standard error is appended to broker.err beside the data directory."""

    def __init__(self, data: Path, *options: str, port: int = 0, wait: bool = True) -> None:
        command = [sys.executable, "-m", "reference_impl.host", "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, "--data", str(data), *options],
            stdout=subprocess.PIPE,
            stderr=(data.parent / "broker.err").open("a"),
            text=True,
        )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the broker serves, and remember its address. Kill it and raise AssertionError
        if it ends or that takes far too long."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = self.process.stdout.readline() if readable else ""
        if not line.startswith("ready "):
            self.kill()
            raise AssertionError(f"the broker is not ready: {line!r}")
        self.bootstrap = line.split()[1]
        host, _, number = self.bootstrap.rpartition(":")
        self.host, self.port = host, int(number)

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end of the process. Raise subprocess.TimeoutExpired if it
        does not come within PATIENCE_S."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        """Send SIGTERM, wait for the end of the process, and return its exit status. Raise
        subprocess.TimeoutExpired if the end does not come within PATIENCE_S."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()


class RawClient:
    """One connection, which its creation opens, and to which each request is given field by
    field."""

    def __init__(self, broker: Address) -> None:
        self.socket = socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, api: ApiKey, version: int, correlation_id: int = 1, **fields: Any) -> None:
        body = request_definition(api).new(**fields)
        self.socket.sendall(encode_request(api, version, correlation_id, "raw", body))

    def receive(self) -> bytes | None:
        """Return one frame without its size, or None if the broker has closed the connection. Raise
        TimeoutError if none comes in time."""
        size = self._exactly(4)
        return None if size is None else self._exactly(struct.unpack(">i", size)[0])

    def _exactly(self, count: int) -> bytes | None:
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionResetError:
                return None
            if not part:
                return None
            data += part
        return data

    def call(self, api: ApiKey, version: int, **fields: Any) -> Struct:
        self.send(api, version, **fields)
        frame = self.receive()
        assert frame is not None, f"{api.name} v{version}: the broker closed the connection"
        return decode_response(frame, api, version)[1]

    def create_topic(self, name: str) -> None:
        of = request_definition(ApiKey.CREATE_TOPICS)
        topic = of.struct("CreatableTopic", name=name, num_partitions=1, replication_factor=1)
        answer = self.call(ApiKey.CREATE_TOPICS, 7, topics=[topic])
        assert answer.topics[0].error_code == 0

    def send_produce(self, topic: str, *values: str, acks: int = -1, **batch: Any) -> None:
        of = request_definition(ApiKey.PRODUCE)
        records = RecordBatch([Record(value.encode()) for value in values], **batch).encode()
        partition = of.struct("PartitionProduceData", index=0, records=records)
        data = of.struct("TopicProduceData", name=topic, partition_data=[partition])
        self.send(ApiKey.PRODUCE, 9, acks=acks, timeout_ms=1000, topic_data=[data])

    def produce(self, topic: str, *values: str, **batch: Any) -> Struct:
        self.send_produce(topic, *values, **batch)
        frame = self.receive()
        assert frame is not None
        body = decode_response(frame, ApiKey.PRODUCE, 9)[1]
        row: Struct = body.responses[0].partition_responses[0]
        return row

    def send_fetch(self, topic: str, offset: int = 0, max_wait_ms: int = 0, **other: Any) -> None:
        of = request_definition(ApiKey.FETCH)
        wanted = of.struct(
            "FetchPartition", partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        rows = [of.struct("FetchTopic", topic=topic, partitions=[wanted])]
        fields = {"min_bytes": 1, "max_bytes": 1 << 20, "topics": rows, **other}
        self.send(ApiKey.FETCH, 12, max_wait_ms=max_wait_ms, **fields)

    def read_all(self, topic: str, offset: int = 0) -> list[str]:
        """Return every value of partition 0 from the batch with this offset on, those of control
        records, too; a null value counts as an empty one."""
        found: list[str] = []
        while True:
            self.send_fetch(topic, offset)
            frame = self.receive()
            assert frame is not None
            body = decode_response(frame, ApiKey.FETCH, 12)[1]
            records = body.responses[0].partitions[0].records
            if not records:
                return found
            position = 0
            while position < len(records):
                batch, position = RecordBatch.decode(records, position)
                found += [(record.value or b"").decode() for record in batch.records]
            offset = end_of(records)
