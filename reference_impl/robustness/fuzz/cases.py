"""The kinds of cases: each is a short conversation between a faulty or correct client and the
broker."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from random import Random

from reference_impl.robustness.fuzz.broker import IDLE_S, MAX_FRAME_BYTES
from reference_impl.robustness.fuzz.frames import Frame, Frames, garbage
from reference_impl.robustness.fuzz.judge import Judge
from reference_impl.robustness.fuzz.values import TOPICS, Values
from reference_impl.robustness.hostile import attacks
from reference_impl.robustness.process import RawClient
from reference_impl.wire import ApiKey, encode_request, request_definition

STORIES: tuple[tuple[ApiKey, ...], ...] = (
    (
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.PRODUCE,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.END_TXN,
        ApiKey.FETCH,
    ),
    (
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.PRODUCE,
        ApiKey.PRODUCE,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.END_TXN,
    ),
    (
        ApiKey.JOIN_GROUP,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LEAVE_GROUP,
    ),
    (
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.OFFSET_COMMIT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.DELETE_GROUPS,
    ),
    (
        ApiKey.CREATE_TOPICS,
        ApiKey.PRODUCE,
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.DELETE_RECORDS,
        ApiKey.FETCH,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.DELETE_TOPICS,
    ),
    (ApiKey.METADATA, ApiKey.FETCH, ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.FETCH),
)
"""Sequences of requests as clients send them; an API that is not advertised is left out."""
LINGERING_MAX = 16
SEGMENTS, MEMBERS = 200, 100
DOOR_WEIGHTS = 6, 1
"""The relative frequencies of attacks on the listener of clients, and on that of controllers."""


class Case:
    """The state of one case: its random generator, the listener that it attacks, and the values and
    requests that it draws."""

    def __init__(self, random: Random, judge: Judge, values: Values) -> None:
        self.random = random
        self.judge = judge
        self.values = values
        self.door = random.choices(judge.broker.doors, DOOR_WEIGHTS)[0]
        self.frames = Frames(random, values, self.door)

    def connect(self) -> RawClient:
        """Open a new connection to the listener of this case."""
        self.judge.counts["connections"] += 1
        return RawClient(self.door)

    def send(self, client: RawClient, data: bytes) -> None:
        """Send all of the data, or stop if the broker closes the connection."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.socket.sendall(data)


class SlowSender:
    """A request that is sent in small parts while other cases run."""

    def __init__(self, case: Case, frame: Frame) -> None:
        self._case = case
        self._frame = frame
        self._client = case.connect()
        data = frame.framed
        step = max(1, len(data) // case.random.randint(2, 20) + 1)
        self._parts = deque(data[at : at + step] for at in range(0, len(data), step))
        self._sent_at = time.monotonic()

    def go_on(self) -> bool:
        """Send one more part. Return False if none is left. Raise Violation for a wrong response.

        The response to the last part is judged at once, so that its log lines are not mixed with
        those of other cases. Give up, and return False, if other cases took so long that the
        broker may have closed the connection as idle.
        """
        if time.monotonic() - self._sent_at > IDLE_S / 2:
            self._client.socket.close()
            return False
        if self._parts:
            self._case.send(self._client, self._parts.popleft())
            self._sent_at = time.monotonic()
        if not self._parts:
            with self._client:
                self._case.judge.settle(self._client, [self._frame])
        return bool(self._parts)


def conversation(case: Case) -> None:
    """Send plausible requests one after the other, with values from earlier responses. Raise
    Violation for a wrong response."""
    story: list[int] = []
    if case.random.random() < 0.7:
        story = [api for api in case.random.choice(STORIES) if api in case.frames.served]
    story = story or [case.frames.any_api() for _ in range(case.random.randint(1, 8))]
    with case.connect() as client:
        for api_key in story:
            if client.socket.fileno() < 0:
                break  # the last request has ended the connection
            frame = case.frames.whole(api_key)
            case.send(client, frame.framed)
            for answer in case.judge.settle(client, [frame]):
                case.values.learn(answer)


def broken(case: Case) -> None:
    """Send requests with one piece broken, each on its own connection. Raise Violation if one is
    treated wrongly."""
    for _ in range(case.random.randint(1, 6)):
        with case.connect() as client:
            frame = case.frames.broken(case.frames.any_api())
            case.send(client, frame.framed)
            case.judge.settle(client, [frame])


def pipelined(case: Case) -> None:
    """Send many requests at once, one of which may be broken; raise Violation unless they are
    answered in order."""
    count = case.random.choice((2, 5, 20, 50))
    apis = [case.frames.any_api() for _ in range(count)]
    frames = [case.frames.whole(api) for api in apis]
    if case.random.random() < 0.3:
        frames[case.random.randrange(count)] = case.frames.broken(apis[0])
    with case.connect() as client:
        case.send(client, b"".join(frame.framed for frame in frames))
        case.judge.settle(client, frames)


def unread(case: Case) -> None:
    """Send many requests without reading their responses, then close the connection."""
    with case.connect() as client:
        frames = [case.frames.whole(case.frames.any_api()) for _ in range(30)]
        client.socket.settimeout(0.1)  # the broker stops reading, as it should
        with contextlib.suppress(TimeoutError):
            case.send(client, b"".join(frame.framed for frame in frames) * 3)
        reset(client)


def garbled(case: Case) -> None:
    """Send bytes that are not a request, and half-close the connection. Raise Violation if the
    broker does not close it then."""
    with case.connect() as client:
        case.send(client, garbage(case.random, MAX_FRAME_BYTES))
        client.socket.shutdown(socket.SHUT_WR)
        case.judge.ends(client)


def half_closed(case: Case) -> None:
    """Half-close a connection, perhaps in the middle of a request. Raise Violation if the broker
    does not close it then."""
    frame = case.frames.whole(case.frames.any_api())
    data = frame.framed * case.random.choice((1, 3))
    if case.random.random() < 0.5:
        data = data[: case.random.randrange(1, len(data))]
    with case.connect() as client:
        case.send(client, data)
        with contextlib.suppress(OSError):  # the broker may have closed already
            client.socket.shutdown(socket.SHUT_WR)
        case.judge.ends(client)


def crowd(case: Case) -> None:
    """Open many connections at once, each with a part of a request, then close them all, some with
    RST."""
    clients = [case.connect() for _ in range(60)]
    for client in clients:
        data = case.frames.whole(case.frames.any_api()).framed
        case.send(client, data[: case.random.randrange(len(data))])
    for client in clients:
        if case.random.random() < 0.5:
            reset(client)
        client.socket.close()


def piled(case: Case) -> None:
    """Send hundreds of kilobytes of small requests with large responses; read some of them, then
    disconnect."""
    body = request_definition(ApiKey.METADATA).new(topics=None)
    frame = encode_request(ApiKey.METADATA, 9, 1, "fuzz", body)
    clients = [case.connect() for _ in range(case.random.randint(1, 5))]
    for client in clients:
        client.socket.settimeout(0.05)  # the broker stops reading, as it should
        with contextlib.suppress(TimeoutError, OSError):
            client.socket.sendall(frame * (256 * 1024 // len(frame)))
        with contextlib.suppress(TimeoutError, OSError):
            client.socket.recv(1 << 20)
    for client in clients:
        client.socket.close()


def left_waiting(case: Case) -> None:
    """Disconnect while a fetch waits, with further requests behind it."""
    for _ in range(case.random.randint(1, 20)):
        with case.connect() as client:
            topic = case.random.choice(TOPICS)
            client.send_fetch(topic, max_wait_ms=3_600_000, min_bytes=1 << 30)
            for _ in range(case.random.choice((0, 1, 20))):
                client.send(ApiKey.API_VERSIONS, 0)


def unfinished(case: Case) -> None:
    """Begin large requests and never complete them."""
    clients = [case.connect() for _ in range(case.random.randint(1, 12))]
    for client in clients:
        size = case.random.choice((MAX_FRAME_BYTES, MAX_FRAME_BYTES // 2))
        client.socket.settimeout(0.1)
        with contextlib.suppress(TimeoutError, OSError):
            client.socket.sendall(size.to_bytes(4, "big") + bytes(size - 1))
    for client in clients:
        client.socket.close()


def segments_gone(case: Case) -> None:
    """Delete partitions of many segments, unless the broker refuses to fill them. Earlier cases
    may have changed its configuration, and with it the number of segments."""
    with contextlib.suppress(AssertionError):
        attacks.segments(case.judge.broker.clients, SEGMENTS)


def sessions_over(case: Case) -> None:
    """Let many members of a group fall silent together, unless the broker refuses one."""
    with contextlib.suppress(AssertionError):
        attacks.ending_sessions(case.judge.broker.clients, MEMBERS)


def reset(client: RawClient) -> None:
    """Close the connection with RST instead of FIN (socket(7), SO_LINGER)."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()


KINDS: tuple[tuple[float, Callable[[Case], None]], ...] = (
    (50, conversation),
    (30, broken),
    (6, pipelined),
    (6, garbled),
    (3, half_closed),
    (2, unread),
    (1, crowd),
    (1, piled),
    (1, left_waiting),
    (1, unfinished),
    (0.2, segments_gone),
    (0.2, sessions_over),
)
SLOW_SENDERS = 0.05
"""The share of cases that leave a slow sender behind."""
