"""Large answers go from the file to the socket: whole, in order, whatever else goes on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_impl.core.handlers.fetch import SENT_FROM_FILE_BYTES
from reference_impl.host.tests.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Struct, decode_response, request_definition

BATCH_BYTES = 900_000
BATCHES = SENT_FROM_FILE_BYTES // BATCH_BYTES + 2


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def broker(data: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(data) as broker:
        with RawClient(broker) as client:
            client.create_topic("t")
            for number in range(BATCHES):
                client.produce("t", chr(ord("a") + number) * BATCH_BYTES)
        yield broker


def ask_for_all(client: RawClient) -> None:
    of = request_definition(ApiKey.FETCH)
    wanted = of.struct("FetchPartition", partition=0, fetch_offset=0, partition_max_bytes=50 << 20)
    rows = [of.struct("FetchTopic", topic="t", partitions=[wanted])]
    client.send_fetch("t", max_bytes=50 << 20, topics=rows)


def partition_of(frame: bytes | None) -> Struct:
    assert frame is not None
    found: Struct = decode_response(frame, ApiKey.FETCH, 12)[1].responses[0].partitions[0]
    return found


def test_a_large_answer_is_the_file_byte_for_byte(broker: BrokerProcess, data: Path) -> None:
    with RawClient(broker) as client:
        ask_for_all(client)
        client.send(ApiKey.API_VERSIONS, 0, correlation_id=2)
        records = partition_of(client.receive()).records
        assert len(records) > SENT_FROM_FILE_BYTES
        assert bytes(records) == (data / "t-0" / f"{0:020}.log").read_bytes()
        following = client.receive()  # nothing came between, and the connection goes on
        assert following is not None
        assert decode_response(following, ApiKey.API_VERSIONS, 0)[0] == 2


def test_others_are_served_while_a_client_does_not_read(broker: BrokerProcess) -> None:
    with RawClient(broker) as slow, RawClient(broker) as other:
        ask_for_all(slow)
        for _ in range(20):
            assert other.call(ApiKey.API_VERSIONS, 0).error_code == 0
        assert partition_of(slow.receive()).high_watermark == BATCHES


def test_a_client_that_leaves_in_the_middle_harms_nobody(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        ask_for_all(client)
    with RawClient(broker) as client:
        ask_for_all(client)
        assert partition_of(client.receive()).high_watermark == BATCHES


def test_a_file_that_goes_in_the_middle_is_still_sent(broker: BrokerProcess, data: Path) -> None:
    with RawClient(broker) as client, RawClient(broker) as other:
        ask_for_all(client)
        assert other.call(ApiKey.API_VERSIONS, 0).error_code == 0  # the sending has begun
        shutil.rmtree(data / "t-0")
        assert len(partition_of(client.receive()).records) > SENT_FROM_FILE_BYTES
