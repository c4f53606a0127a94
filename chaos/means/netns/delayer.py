"""Hold packets back in network namespaces, for kernels without netem (NFQUEUE; needs root).

`python delayer.py NAME NAMESPACE…` runs by itself, without the project. In each namespace it takes
the packets that a firewall's rule `-j NFQUEUE --queue-num N` hands over, and releases each when its
time has come, in the order in which they came. The abstract Unix socket NAME takes orders, each
answered by "ok" once it is in force:

    N LATENCY JITTER          delay the packets of queue N by LATENCY ± JITTER milliseconds
    heal                      release all packets that are held, and delay no more

Formats: linux/netlink.h, linux/netfilter/nfnetlink.h, linux/netfilter/nfnetlink_queue.h.
"""

from __future__ import annotations

import ctypes
import errno
import heapq
import os
import selectors
import socket
import struct
import sys
import time
from collections.abc import Iterator
from random import Random

QUEUES = 8
HELD_MAX = 10_000
"""The most packets that a queue holds; further ones pass without delay (FAIL_OPEN)."""
ORDER_BYTES = 200
BUFFER_BYTES = 4 << 20

CLONE_NEWNET = 0x40000000
NETLINK_NETFILTER = 12
SOL_NETLINK, NETLINK_NO_ENOBUFS = 270, 5
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
PACKET, VERDICT, CONFIG = (3 << 8 | kind for kind in (0, 1, 2))
CFG_CMD, CFG_PARAMS, CFG_QUEUE_MAXLEN, CFG_MASK, CFG_FLAGS = 1, 2, 3, 4, 5
CMD_BIND, COPY_META = 1, 1
FAIL_OPEN, GSO = 1, 4
PACKET_HDR, VERDICT_HDR, NF_ACCEPT = 1, 2, 1

HEADER = struct.Struct("=IHHII")  # nlmsghdr
FAMILY = struct.Struct(">BBH")  # nfgenmsg: the queue's number is its res_id
ATTRIBUTE = struct.Struct("=HH")


def attribute(kind: int, payload: bytes) -> bytes:
    size = ATTRIBUTE.size + len(payload)
    return ATTRIBUTE.pack(size, kind) + payload + bytes(-size % 4)


def message(kind: int, flags: int, queue: int, *attributes: bytes) -> bytes:
    body = FAMILY.pack(0, 0, queue) + b"".join(attributes)
    return HEADER.pack(HEADER.size + len(body), kind, flags | NLM_F_REQUEST, 0, 0) + body


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (kind, body) of each netlink message in these bytes."""
    while len(data) >= HEADER.size:
        size, kind, *_ = HEADER.unpack_from(data)
        yield kind, data[HEADER.size : size]
        data = data[max(HEADER.size, size + -size % 4) :]


def packet_id(body: bytes) -> int | None:
    """Return the packet's id from the body of a PACKET message, or None if it has none."""
    at = FAMILY.size
    while at + ATTRIBUTE.size <= len(body):
        size, kind = ATTRIBUTE.unpack_from(body, at)
        if kind == PACKET_HDR:
            return int.from_bytes(body[at + 4 : at + 8])
        at += max(ATTRIBUTE.size, size + -size % 4)
    return None


class Namespace:
    """The packet queues of one network namespace. Making one moves this thread into the namespace,
    and raises OSError if that or a queue is refused."""

    def __init__(self, path: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with open(path, "rb") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), path)
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)
        for queue in range(QUEUES):
            self._bind(queue)
        self.socket.setblocking(False)

    def _bind(self, queue: int) -> None:
        flags = struct.pack(">I", FAIL_OPEN | GSO)
        for attributes in (
            [attribute(CFG_CMD, struct.pack(">BxH", CMD_BIND, 0))],
            [
                attribute(CFG_PARAMS, struct.pack(">IB", 0, COPY_META)),
                attribute(CFG_QUEUE_MAXLEN, struct.pack(">I", HELD_MAX)),
                attribute(CFG_FLAGS, flags),
                attribute(CFG_MASK, flags),
            ],
        ):
            self.socket.send(message(CONFIG, NLM_F_ACK, queue, *attributes))
            for kind, body in messages(self.socket.recv(BUFFER_BYTES)):
                if kind == NLMSG_ERROR and (number := -struct.unpack_from("=i", body)[0]):
                    raise OSError(number, f"queue {queue}: {os.strerror(number)}")

    def packets(self) -> Iterator[tuple[int, int]]:
        """Take the packets that have arrived from the socket, and yield (queue, packet id) of
        each."""
        try:
            while True:
                for kind, body in messages(self.socket.recv(BUFFER_BYTES)):
                    if kind == PACKET and (number := packet_id(body)) is not None:
                        yield FAMILY.unpack_from(body)[2], number
        except BlockingIOError:
            return

    def let_go(self, queue: int, number: int) -> None:
        verdict = attribute(VERDICT_HDR, struct.pack(">II", NF_ACCEPT, number))
        try:
            self.socket.send(message(VERDICT, 0, queue, verdict))
        except OSError as error:
            if error.errno != errno.ENOENT:  # the kernel no longer has the packet
                raise


class Delayer:
    """The packets that are held back, and the time at which each is due."""

    def __init__(self) -> None:
        self._late: dict[int, tuple[float, float]] = {}
        self._held: list[tuple[float, int, Namespace, int, int]] = []
        self._newest: dict[tuple[int, int], float] = {}
        self._count = 0
        self._rng = Random(0)

    def obey(self, order: str) -> str:
        """Obey one order ("heal", or a queue with its delay), and return the answer for the
        harness."""
        if order == "heal":
            self._late.clear()
            self._newest.clear()
            self.release(everything=True)
            return "ok"
        number, latency_ms, jitter_ms = map(int, order.split())
        self._late[number] = latency_ms / 1000, jitter_ms / 1000
        return "ok"

    def take(self, namespace: Namespace) -> None:
        now = time.monotonic()
        for queue, number in namespace.packets():
            latency_s, jitter_s = self._late.get(queue, (0.0, 0.0))
            due = now + max(0.0, latency_s + self._rng.uniform(-jitter_s, jitter_s))
            key = id(namespace), queue
            due = self._newest[key] = max(due, self._newest.get(key, 0.0) if latency_s else 0.0)
            self._count += 1
            heapq.heappush(self._held, (due, self._count, namespace, queue, number))

    def release(self, everything: bool = False) -> None:
        now = time.monotonic()
        while self._held and (everything or self._held[0][0] <= now):
            _, _, namespace, queue, number = heapq.heappop(self._held)
            namespace.let_go(queue, number)

    def wait_s(self) -> float | None:
        """Return the seconds until the next packet is due, or None if none is held."""
        return max(0.0, self._held[0][0] - time.monotonic()) if self._held else None


def main(name: str, paths: list[str]) -> None:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    delayer = Delayer()
    watched = selectors.DefaultSelector()
    for path in paths:
        namespace = Namespace(path)
        watched.register(namespace.socket, selectors.EVENT_READ, namespace)
    control.bind(f"\0{name}")  # last: the socket exists only when everything is ready
    watched.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in watched.select(delayer.wait_s()):
            if key.data is not None:
                delayer.take(key.data)
                continue
            order, sender = control.recvfrom(ORDER_BYTES)
            control.sendto(delayer.obey(order.decode()).encode(), sender)
        delayer.release()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
