"""Large answers go from the file to the socket: whole, in order, whatever else goes on."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import uvloop

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.reading import SENT_FROM_FILE_BYTES
from reference_impl.host.disk import Disk
from reference_impl.host.tcp.responses.sendfile import (
    PIECE_BYTES,
    Direct,
    Encrypted,
    FileAnswer,
    joined,
)
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Struct, decode_response, request_definition

BATCH_BYTES = 900_000
BATCHES = 12
"""More than a socket takes of a client that does not read."""


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


@pytest.mark.parametrize("behind", [0, 2])
def test_a_client_that_sends_no_more_gets_its_whole_answer(
    broker: BrokerProcess, data: Path, behind: int
) -> None:
    """Kafka reads nothing of a client while it answers it, and so sees the end only afterwards."""
    with RawClient(broker) as client:
        ask_for_all(client)
        for _ in range(behind):
            client.send(ApiKey.API_VERSIONS, 0)
        time.sleep(0.2)  # let the answer begin
        client.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.2)  # let the broker see it
        size = (data / "t-0" / f"{0:020}.log").stat().st_size
        assert len(partition_of(client.receive()).records) == size
        for _ in range(behind):
            assert client.receive() is not None
        assert client.receive() is None, "the connection is closed then"


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


def test_a_fetch_between_small_requests_is_answered_in_its_place(broker: BrokerProcess) -> None:
    """Small answers are gathered in the transport, the large one goes past it."""
    with RawClient(broker) as client:
        for number in range(3):
            client.send(ApiKey.API_VERSIONS, 0, correlation_id=number)
            ask_for_all(client)
        for number in range(3):
            small = client.receive()
            assert small is not None
            assert decode_response(small, ApiKey.API_VERSIONS, 0)[0] == number
            assert partition_of(client.receive()).high_watermark == BATCHES


class Sending(asyncio.Protocol):
    """The side that answers, as a connection does it."""

    def __init__(self, kind: str, before: bytes, parts: Sequence[bytes | Slice]) -> None:
        self.kind, self.before, self.parts = kind, before, parts
        self.takes_more = True
        self.progress = 0
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[Exception | None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.answer: FileAnswer | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        transport.write(self.before)
        if self.kind == "direct":
            self.answer = Direct(transport, self.parts, self.note, self.ended.set_result)
        else:
            self.answer = Encrypted(
                transport, self.parts, self.note, self.ended.set_result, lambda: self.takes_more
            )
        self.answer.go_on()

    def note(self) -> None:
        self.progress += 1

    def pause_writing(self) -> None:
        self.takes_more = False

    def resume_writing(self) -> None:
        self.takes_more = True
        if self.answer is not None:
            self.answer.go_on()


def sent_by(
    loop: Callable[[], asyncio.AbstractEventLoop],
    kind: str,
    before: bytes,
    parts: Sequence[bytes | Slice],
) -> tuple[bytes, Exception | None, int]:
    """Return what a slow client gets, how the answer ended, and how often progress was noted."""
    received = bytearray()

    def read_slowly(client: socket.socket) -> None:
        while data := client.recv(PIECE_BYTES // 4):
            received.extend(data)
            time.sleep(0.001)

    async def serve(server: socket.socket) -> tuple[Exception | None, int]:
        running = asyncio.get_running_loop()
        transport, protocol = await running.connect_accepted_socket(
            lambda: Sending(kind, before, parts), server
        )
        error = await protocol.ended
        transport.close()
        await protocol.lost  # the transport may still hold bytes, which go with the loop
        return error, protocol.progress

    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
    reader = threading.Thread(target=read_slowly, args=(client,))
    reader.start()
    with asyncio.Runner(loop_factory=loop) as runner:
        error, progress = runner.run(serve(server))
    reader.join()
    client.close()
    return bytes(received), error, progress


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("kind", ["direct", "encrypted"])
@pytest.mark.parametrize("before", [b"", b"before" * PIECE_BYTES])
def test_parts_come_whole_and_in_order_to_a_slow_client(
    tmp_path: Path, loop: Callable[[], asyncio.AbstractEventLoop], kind: str, before: bytes
) -> None:
    disk = Disk()
    content = bytes(range(256)) * (5 * PIECE_BYTES // 256)
    file = disk.open(str(tmp_path / "log"), create=True)
    file.append(content)
    parts: list[bytes | Slice] = [
        b"he",
        b"ad",
        Slice(file, 7, 5 * PIECE_BYTES - 7, 0),
        b"between",
        Slice(file, 3, 9, 0),
    ]
    got, error, progress = sent_by(loop, kind, before, [*parts, b""])
    assert error is None
    assert got == before + b"head" + content[7:] + b"between" + content[3:12]
    assert progress > 5


@pytest.mark.parametrize("kind", ["direct", "encrypted"])
def test_a_file_that_ends_early_ends_the_answer_with_the_reason(tmp_path: Path, kind: str) -> None:
    file = Disk().open(str(tmp_path / "log"), create=True)
    file.append(b"short")
    got, error, _ = sent_by(asyncio.new_event_loop, kind, b"", [b"head", Slice(file, 0, 9, 0)])
    assert got == b"headshort"
    assert "it ends 4 bytes before its last batch does" in str(error)


def test_neighbouring_bytes_are_one_part(tmp_path: Path) -> None:
    part = Slice(Disk().open(str(tmp_path / "log"), create=True), 0, 9, 0)
    assert list(joined([b"a", b"", b"b", part, part, b"c"])) == [b"ab", part, part, b"c"]
