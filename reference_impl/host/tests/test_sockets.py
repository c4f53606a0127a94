"""Sockets and memory of clients that leave, fall silent, or never finish what they began."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.host.tcp.intake import (
    DEFAULT_BYTES,
    READ_BYTES,
    SMALL_BYTES,
    STANDSTILL_S,
    Intake,
)
from reference_impl.host.tcp.server import BUFFERS, SYSTEMS_CHOICE, size_buffers
from reference_impl.robustness.process import PATIENCE_S, BrokerProcess, RawClient
from reference_impl.wire import ApiKey

CROWD = 50
MIB = 1 << 20


def sockets(broker: BrokerProcess) -> int:
    """Return how many sockets the broker has open."""
    found = 0
    for link in Path(f"/proc/{broker.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(link).startswith("socket:")
    return found


def resident(broker: BrokerProcess) -> int:
    """Return the process's resident memory (proc(5), statm)."""
    pages = int(Path(f"/proc/{broker.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once it holds; AssertionError if it does not in a generous time."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def park(broker: BrokerProcess, behind: int) -> RawClient:
    """Open a client whose fetch waits for a day, with so many requests behind it."""
    client = RawClient(broker)
    client.send_fetch("t", max_wait_ms=86_400_000, min_bytes=1 << 20)
    for _ in range(behind):
        client.send(ApiKey.API_VERSIONS, 0)
    return client


@pytest.mark.parametrize("behind", [0, 3])
def test_no_socket_is_kept_of_clients_that_left_while_a_fetch_waits(
    tmp_path: Path, behind: int
) -> None:
    with BrokerProcess(tmp_path / "data") as broker, RawClient(broker) as other:
        other.create_topic("t")
        before = sockets(broker)
        clients = [park(broker, behind) for _ in range(CROWD)]
        wait_until(lambda: sockets(broker) == before + CROWD)
        assert other.call(ApiKey.API_VERSIONS, 0).error_code == 0
        for client in clients:
            client.socket.close()
        wait_until(lambda: sockets(broker) == before)


def test_the_idle_time_holds_whatever_is_in_flight(tmp_path: Path) -> None:
    options = ("--config", "connections.max.idle.ms=1500")
    with BrokerProcess(tmp_path / "data", *options) as broker:
        with RawClient(broker) as client:
            client.create_topic("t")
        with park(broker, behind=0) as bare, park(broker, behind=3) as behind:
            assert bare.receive() is None
            assert behind.receive() is None


def test_unfinished_requests_hold_no_more_than_the_bound_and_others_get_through(
    tmp_path: Path,
) -> None:
    """The broker ends the hostile clients one after another, so few of them send much each."""
    limits = {
        "socket.request.max": 16 * MIB,
        "queued.max.request": 16 * MIB,
        "message.max": 4 * MIB,
    }
    options = [word for key, size in limits.items() for word in ("--config", f"{key}.bytes={size}")]
    with (
        BrokerProcess(tmp_path / "data", *options) as broker,
        RawClient(broker) as client,
        contextlib.ExitStack() as stack,
    ):
        client.create_topic("t")
        before = resident(broker)
        for _ in range(6):  # 72 MiB together
            hostile = stack.enter_context(RawClient(broker))
            hostile.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                hostile.socket.sendall(struct.pack(">i", 16 * MIB) + bytes(12 * MIB))
        assert client.call(ApiKey.API_VERSIONS, 0).error_code == 0
        assert resident(broker) - before < 32 * MIB
        large = "x" * (2 * MIB)
        assert client.produce("t", large).error_code == 0
        assert client.read_all("t") == [large]


class Sender:
    """A connection with a request under way."""

    def __init__(self) -> None:
        self.last_used_s = 0.0
        self.reads = 0
        self.ended: str | None = None

    def read_on(self) -> None:
        self.reads += 1

    def end(self, reason: str) -> None:
        self.ended = reason


def test_beyond_the_bound_only_the_oldest_goes_on_and_others_follow_in_their_order() -> None:
    intake = Intake(10 * MIB, MIB)
    first, second, third, small = (Sender() for _ in range(4))
    assert intake.note(first, 6 * MIB)
    assert not intake.note(second, 6 * MIB)
    assert not intake.note(third, 6 * MIB)
    assert intake.note(small, SMALL_BYTES)
    assert intake.note(first, 7 * MIB)
    assert intake.held_bytes == 19 * MIB
    intake.note(first, 0)
    assert (second.reads, third.reads) == (1, 0)
    intake.forget(second)
    assert (second.reads, third.reads) == (1, 1)
    assert intake.held_bytes == 6 * MIB


def test_only_as_many_read_on_as_there_is_room_for() -> None:
    """If all did, a thousand senders would exceed the bound by a quarter of a gigabyte."""
    intake = Intake(10 * MIB, MIB)
    first, *others = (Sender() for _ in range(101))
    assert intake.note(first, 10 * MIB)
    assert not any(intake.note(sender, 2 * SMALL_BYTES) for sender in others)
    intake.forget(first)
    resumed = [sender for sender in others if sender.reads]
    assert intake.held_bytes + len(resumed) * READ_BYTES <= 10 * MIB
    assert resumed == others[: len(resumed)] != []
    assert all(intake.note(sender, 3 * SMALL_BYTES) for sender in resumed)
    intake.end_standstills(0.0)
    assert sum(sender.reads for sender in others) > len(resumed), "they read less than they might"


def test_a_standstill_ends_who_holds_what_others_wait_for_and_nobody_else() -> None:
    intake = Intake(10 * MIB, MIB)
    still, going, waiting = (Sender() for _ in range(3))
    intake.note(still, 8 * MIB)
    intake.note(going, 1 * MIB)
    intake.end_standstills(STANDSTILL_S + 1)
    assert still.ended is None, "nobody waited"
    going.last_used_s = STANDSTILL_S
    assert not intake.note(waiting, 2 * MIB)
    intake.end_standstills(STANDSTILL_S + 1)
    assert still.ended is not None and "queued.max.request.bytes" in still.ended
    assert going.ended is None and waiting.ended is None


@pytest.mark.parametrize("size", [50_000, SYSTEMS_CHOICE])
def test_accepted_sockets_have_the_buffers_of_the_configuration(size: int) -> None:
    """Linux keeps twice what it is asked for (socket(7))."""
    config = BrokerConfig.of(dict.fromkeys(BUFFERS.values(), str(size)))
    with socket.socket() as listening, socket.socket() as client:
        usual = listening.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        size_buffers(listening, config)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            sizes = [accepted.getsockopt(socket.SOL_SOCKET, option) for option in BUFFERS]
    if size == SYSTEMS_CHOICE:
        assert sizes[0] >= usual
    else:
        assert sizes == [2 * size] * 2


def test_without_a_bound_of_its_own_the_broker_has_one() -> None:
    assert Intake(-1, MIB).bytes_max == DEFAULT_BYTES
    assert Intake(-1, 2 * DEFAULT_BYTES).bytes_max == 2 * DEFAULT_BYTES


def test_the_records_of_a_request_may_not_exceed_what_all_may_hold(tmp_path: Path) -> None:
    option = ("--config", "queued.max.request.bytes=1000")
    with BrokerProcess(tmp_path / "data", *option, wait=False) as broker:
        assert broker.process.wait(PATIENCE_S) == 2
    assert "queued.max.request.bytes=1000" in (tmp_path / "broker.err").read_text()
