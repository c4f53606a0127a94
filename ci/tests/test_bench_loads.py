"""Test the loads of the benchmarks that a comparison of targets uses, on a fake broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from ci.bench import broker_loads as loads
from ci.compare import measuring
from conformance.case import Deviation
from conformance.connection import NoAnswer
from conformance.wire import Topic, Wire, api_key, batch
from reference_impl.wire import encode_response, response_definition

TOPIC = Topic("t", uuid.UUID(int=1), 1)
EMPTY, RECORD = b"", batch(b"x").encode()


class Connection:
    """Answers each Produce, and each Fetch with the next of these records."""

    timeout_s = 0.05

    def __init__(self, found: Iterator[bytes], error_code: int = 0) -> None:
        self.found, self.error_code = found, error_code
        self.asked: list[int] = []
        """The API of each request."""

    def send_bytes(self, data: bytes) -> None:
        self.asked.append(int.from_bytes(data[4:6], "big"))

    def receive_frame(self) -> bytes:
        if self.asked[-1] != api_key("Fetch"):
            return b""
        definition = response_definition(api_key("Fetch"))
        row = definition.struct("PartitionData", error_code=self.error_code)
        row.records = next(self.found)
        topic = definition.struct("FetchableTopicResponse", topic=TOPIC.name, partitions=[row])
        body = definition.new(responses=[topic])
        return encode_response(api_key("Fetch"), loads.FETCH_VERSION, 1, body)[4:]

    def close(self) -> None:
        pass


class Broker(Wire):
    """A client whose connections are to such brokers."""

    def __init__(self, *found: bytes, then: bytes = RECORD, error_code: int = 0) -> None:
        super().__init__("127.0.0.1:1", {"Produce": (0, 9), "Fetch": (0, 12)})
        self.found = chain(found, repeat(then))
        self.error_code = error_code
        self.opened: list[Connection] = []

    def connect_to_leader(self, _topic: Topic, _partition: int = 0) -> Connection:  # type: ignore[override]
        self.opened.append(Connection(self.found, self.error_code))
        return self.opened[-1]

    def end_offset(self, _topic: Topic, _partition: int = 0) -> int:
        return 7


def test_a_load_ends_after_its_most_requests() -> None:
    wire = Broker()
    assert len(loads.end_to_end_ms(wire, TOPIC, 10, 60.0, most=3)) == 3
    connection = wire.connect_to_leader(TOPIC)
    frame = loads.produce_frame(wire, TOPIC, 10, acks=-1, records=4)
    assert len(loads.latencies_ms(connection, frame, 60.0, most=5)) == 5  # type: ignore[arg-type]
    before = len(connection.asked)
    assert loads.pipelined(connection, frame, 60.0, most=11) > 0  # type: ignore[arg-type]
    assert len(connection.asked) - before == 11


def test_a_reader_asks_again_until_the_record_is_there() -> None:
    wire = Broker(EMPTY, EMPTY)
    assert len(loads.end_to_end_ms(wire, TOPIC, 10, 0.0)) == 1
    writer, reader = wire.opened
    assert writer.asked == [api_key("Produce")]
    assert reader.asked == [api_key("Fetch")] * 3


def test_a_record_that_no_reader_gets_is_an_error() -> None:
    with pytest.raises(NoAnswer, match=r"no reader got offset 7 within 0\.05 s"):
        loads.end_to_end_ms(Broker(then=EMPTY), TOPIC, 10, 0.0)


def test_a_fetch_that_is_refused_is_an_error() -> None:
    with pytest.raises(Deviation, match="Fetch"):
        loads.end_to_end_ms(Broker(error_code=3), TOPIC, 10, 0.0)


@pytest.mark.parametrize("load", [measuring._acknowledged, measuring._written])
def test_fast_refusals_are_no_throughput(load: measuring.Load) -> None:
    with pytest.raises(Deviation, match="end offset of the log after the load"):
        load(Broker(), lambda _: TOPIC, 0.05)
