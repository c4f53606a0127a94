"""A proxy before a broker that makes it another broker, which is just as right: other node ids,
hosts and cluster ids, generations of groups that begin at another number, rows in another order,
unknown tagged fields, larger ranges of versions, an API of its own, no error messages, fewer
batches in an answer, no fetch sessions, late answers.

No case may fail because of it. Requests pass byte for byte, unless they name a broker's id or a
generation.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random

from reference_impl.wire import (
    API_NAMES,
    Malformed,
    Struct,
    batches,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_definition,
    response_definition,
)

NODE, NODE_TOLD, NOBODY = 1, 1001, 2_000_000_001
"""The id of the broker, the id that clients are told, and the one that stands for the real id when
a client uses it."""
NODE_FIELDS = frozenset(
    {
        *("node_id", "leader_id", "controller_id", "broker_id", "voter_id", "broker_ids"),
        *("replica_nodes", "isr_nodes", "offline_replicas", "preferred_read_replica"),
        *("replicas", "adding_replicas", "removing_replicas"),
        *("eligible_leader_replicas", "last_known_elr"),
    }
)
GENERATION_FIELDS = frozenset(
    {
        *("generation_id", "generation_id_or_member_epoch"),
        *("group_epoch", "assignment_epoch", "member_epoch"),
    }
)
"""The generations of classic groups, and the epochs of others; 0 and below have a meaning of their
own."""
GENERATIONS_BEFORE = 100
NO_GENERATION = 1_000_000
"""Added to a generation of a client that the broker has never given."""
OF_BROKERS = (4, 8)
"""ConfigResource types whose name is a broker's id: BROKER and BROKER_LOGGER."""
LONGER = "-of-another-broker-with-longer-ids"
IN_ORDER = frozenset(
    {
        ("DescribeTopicPartitions", "topics"),
        ("DescribeTopicPartitions", "partitions"),
        ("Fetch", "responses"),
        ("Fetch", "partitions"),
        ("Fetch", "aborted_transactions"),
        ("DescribeConfigs", "synonyms"),
        ("JoinGroup", "members"),
    }
)
"""(API, list) whose order the protocol determines, or that a client may rely on."""
UNKNOWN_TAG = 4242
LATE_EVERY, LATE_S = 200, 1.2
"""Every 200th answer comes 1.2 s late."""
MORE_VERSIONS = 3
API_VERSIONS, VENDORS_API = 18, 20_001
"""An API of the vendor's own, which is advertised, too."""


@dataclass
class Variation:
    """The address of the proxy in place of the broker's."""

    own: tuple[str, int]
    behind: tuple[str, int]
    answers: Iterator[int] = field(default_factory=count)
    chance: Random = field(default_factory=lambda: Random(1))
    """Chooses the order of rows, another one in each answer."""

    def request(self, frame: bytes) -> bytes:
        """Return a request (without its size) as the broker must get it, with its size."""
        whole = struct.pack(">i", len(frame)) + frame
        try:
            header, body = decode_request(frame)
            key, version = header.api_key, header.api_version
            before = repr(body)
            _with_ids(body, {NODE_TOLD: NODE, NODE: NOBODY})
            _with_cluster(body, longer=False)
            _with_generations(body, _given)
            if repr(body) == before:
                return whole
            return encode_request(key, version, header.correlation_id, header.client_id, body)
        except (Malformed, ValueError, KeyError, struct.error):
            return whole  # it is the broker's to refuse

    def response(self, key: int, version: int, frame: bytes) -> bytes:
        """Return a response (without its size) as the client gets it, with its size."""
        correlation_id, body = decode_response(frame, key, version)
        self.vary(API_NAMES[key], body)
        if next(self.answers) % LATE_EVERY == LATE_EVERY - 1:
            time.sleep(LATE_S)
        return encode_response(key, version, correlation_id, body)

    def vary(self, api: str, body: Struct) -> None:
        """Make a response that of another broker."""
        _with_ids(body, {NODE: NODE_TOLD})
        _with_cluster(body, longer=True)
        _with_generations(body, _told)
        for row in _structs(body):
            self._vary_row(api, row)
        if api == "Fetch" and hasattr(body, "session_id"):
            body.session_id = 0
        if api == "ApiVersions" and not body.error_code:
            for row in body.api_keys:
                known = request_definition(row.api_key).valid_versions
                if row.max_version == known[-1]:
                    row.max_version += MORE_VERSIONS
            if not body.error_code:
                own = response_definition(API_VERSIONS).struct("ApiVersion", api_key=VENDORS_API)
                body.api_keys.append(own)

    def _vary_row(self, api: str, row: Struct) -> None:
        row.unknown_tags = {**(row.unknown_tags or {}), UNKNOWN_TAG: b"of a newer broker"}
        for name in row._names:
            value = getattr(row, name)
            if isinstance(value, list) and (api, name) not in IN_ORDER:
                if value and isinstance(value[0], Struct):
                    self.chance.shuffle(value)
            elif name == "error_message" and value:
                row.error_message = "other words"
            elif name == "records" and value and not row.aborted_transactions:
                first = next(iter(batches(bytes(value))), None)
                if first is not None:
                    row.records = bytes(value)[: 12 + struct.unpack_from(">i", value, 8)[0]]
        if getattr(row, "port", None) == self.behind[1]:
            row.host, row.port = self.own


def _structs(body: Struct) -> Iterator[Struct]:
    yield body
    for name in body._names:
        value = getattr(body, name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Struct):
                yield from _structs(part)


def _with_ids(body: Struct, told: dict[int, int]) -> None:
    """Replace the ids of brokers in a message."""
    for row in _structs(body):
        own = {"replica_id"} if {"replica_id", "log_end_offset"} <= set(row._names) else set()
        for name in (NODE_FIELDS | own) & set(row._names):
            value = getattr(row, name)
            if isinstance(value, int):
                setattr(row, name, told.get(value, value))
            elif isinstance(value, list) and value and isinstance(value[0], int):
                setattr(row, name, [told.get(each, each) for each in value])
        if getattr(row, "resource_type", None) in OF_BROKERS and hasattr(row, "resource_name"):
            name = row.resource_name
            if name and name.isdigit():
                row.resource_name = str(told.get(int(name), int(name)))


def _with_cluster(body: Struct, *, longer: bool) -> None:
    for row in _structs(body):
        value = getattr(row, "cluster_id", None)
        if isinstance(value, str):
            row.cluster_id = value + LONGER if longer else value.removesuffix(LONGER)


def _told(generation: int) -> int:
    """Return the generation that clients are told."""
    unknown = generation > NO_GENERATION
    return generation - NO_GENERATION if unknown else generation + GENERATIONS_BEFORE


def _given(generation: int) -> int:
    """Return the generation that the broker has given, or one that it never gave."""
    known = generation > GENERATIONS_BEFORE
    return generation - GENERATIONS_BEFORE if known else generation + NO_GENERATION


def _with_generations(body: Struct, other: Callable[[int], int]) -> None:
    for row in _structs(body):
        for name in GENERATION_FIELDS & set(row._names):
            value = getattr(row, name)
            if isinstance(value, int) and value > 0:
                setattr(row, name, other(value))


class LawfulProxy:
    """One listening port before one broker."""

    def __init__(self, behind: tuple[str, int]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.variation = Variation(("localhost", port), behind)
        self.bootstrap = f"127.0.0.1:{port}"
        self.failures: list[str] = []
        """The messages that the proxy could not translate: there must be none."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            with socket.create_connection(self.variation.behind) as broker:
                for side in (client, broker):
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                due: deque[tuple[int, int]] = deque()
                up = threading.Thread(target=self._up, args=(client, broker, due), daemon=True)
                up.start()
                with suppress(OSError):
                    self._down(client, broker, due)
                _end(client, socket.SHUT_RDWR)
            up.join()

    def _up(
        self, client: socket.socket, broker: socket.socket, due: deque[tuple[int, int]]
    ) -> None:
        """Pass requests on until the client sends no more."""
        with suppress(OSError):
            for chunk, is_frame in _frames(client):
                if is_frame and (awaited := _awaited(chunk)) is not None:
                    due.append(awaited)
                broker.sendall(self.variation.request(chunk) if is_frame else chunk)
        _end(broker, socket.SHUT_WR)

    def _down(
        self, client: socket.socket, broker: socket.socket, due: deque[tuple[int, int]]
    ) -> None:
        """Pass responses on until the broker sends no more."""
        for chunk, is_frame in _frames(broker):
            if not is_frame or not due:
                client.sendall(struct.pack(">i", len(chunk)) + chunk if is_frame else chunk)
                continue
            key, version = due.popleft()
            try:
                client.sendall(self.variation.response(key, version, chunk))
            except (Malformed, ValueError, KeyError, AttributeError) as error:
                self.failures.append(f"{API_NAMES.get(key, key)} v{version}: {error}")
                client.sendall(struct.pack(">i", len(chunk)) + chunk)


FRAME_BYTES_MAX = 100 << 20


def _frames(side: socket.socket) -> Iterator[tuple[bytes, bool]]:
    """Yield each frame without its size; once a size is impossible, or the stream ends within a
    frame, the bytes as they are."""
    waiting = bytearray()
    while data := side.recv(1 << 16):
        waiting += data
        while len(waiting) >= 4:
            (size,) = struct.unpack_from(">i", waiting)
            if not 0 < size <= FRAME_BYTES_MAX:
                yield bytes(waiting), False
                waiting.clear()
                break
            if len(waiting) < 4 + size:
                break
            yield bytes(waiting[4 : 4 + size]), True
            del waiting[: 4 + size]
    if waiting:
        yield bytes(waiting), False


def _awaited(frame: bytes) -> tuple[int, int] | None:
    """Return the API and the version in which the answer to a request comes, or None if it gets
    none."""
    key, version = struct.unpack_from(">hh", frame) if len(frame) >= 4 else (-1, -1)
    try:
        _, body = decode_request(frame)
    except (Malformed, ValueError, KeyError, struct.error):
        return (key, 0) if API_NAMES.get(key) == "ApiVersions" else None
    return None if API_NAMES[key] == "Produce" and body.acks == 0 else (key, version)


def _end(side: socket.socket, how: int) -> None:
    with suppress(OSError):
        side.shutdown(how)


@contextmanager
def lawful(bootstrap: str) -> Iterator[LawfulProxy]:
    """Provide a proxy before the broker at host:port."""
    host, _, port = bootstrap.rpartition(":")
    proxy = LawfulProxy((host, int(port)))
    try:
        yield proxy
    finally:
        proxy.close()
