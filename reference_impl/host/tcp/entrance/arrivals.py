"""Accept clients a few at a time, and begin their TLS handshakes a few at a time.

An event loop accepts in one round all clients that wait, and answers all first messages of
handshakes that have come. Such a message is cheap to send, even again and again the same, but each
costs the server a signature. Thousands at once would keep all other clients waiting. So handshakes
begin in rounds, between which the loop serves others. Kafka has threads for each listener instead
(SocketServer.java, Acceptor and Processor).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.access.connecting import words
from reference_impl.host.seldom import Seldom

log = logging.getLogger("reference_impl.host")
BACKLOG = 1024
ACCEPTED_AT_ONCE = 16
HANDSHAKES_AT_ONCE = 4
SILENCE_S = 60.0
"""The seconds after which a client that has not begun its handshake is closed; asyncio gives it as
many to complete it."""
REST_S = 1.0
"""The seconds without accepting when the process has no descriptor or memory left."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass(frozen=True, eq=False)
class Door:
    """A bound socket, and what becomes of the clients that it accepts."""

    socket: socket.socket
    connection: Callable[[], asyncio.Protocol]
    tls: ssl.SSLContext | None


class Arrivals:
    """The clients of all listeners that were accepted, but are not connections yet."""

    def __init__(self, room: Callable[[], float]) -> None:
        """Accept no client yet. room: returns how many clients there may be here."""
        self._loop = asyncio.get_running_loop()
        self._room = room
        self._seldom = Seldom()
        self._doors: list[Door] = []
        self._silent: dict[socket.socket, asyncio.TimerHandle] = {}
        """The clients that have not begun their handshake, the oldest first."""
        self._begun: deque[tuple[socket.socket, Door]] = deque()
        """The clients whose handshakes wait for one of the next rounds."""
        self._opening: dict[asyncio.Task[None], None] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._begun) + len(self._opening)

    @property
    def handshakes(self) -> int:
        """The number of clients that complete their handshake, or begin to be a connection."""
        return len(self._opening)

    def open(self, door: Door) -> None:
        """Accept the clients of this door from now on."""
        door.socket.setblocking(False)
        door.socket.listen(BACKLOG)
        self._doors.append(door)
        self._loop.add_reader(door.socket, self._accept, door)

    def close(self) -> None:
        """Accept no further client, and close all that are not connections yet."""
        for door in self._doors:
            self._loop.remove_reader(door.socket)
        self._doors.clear()
        while self._end_oldest():
            pass
        for client, _ in self._begun:
            client.close()
        self._begun.clear()

    def _accept(self, door: Door) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                client, _ = door.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                log.error("no client is accepted for %g s: %s", REST_S, error.strerror)
                self._loop.remove_reader(door.socket)
                self._loop.call_later(REST_S, self._accept_again, door)
                return
            client.setblocking(False)
            self._let_in(client, door)

    def _accept_again(self, door: Door) -> None:
        if door in self._doors:
            self._loop.add_reader(door.socket, self._accept, door)

    def _let_in(self, client: socket.socket, door: Door) -> None:
        if door.tls is None:
            self._connect(client, door)
            return
        if len(self) >= self._room():
            self._end_oldest()
        self._silent[client] = self._loop.call_later(SILENCE_S, self._end, client)
        self._loop.add_reader(client, self._hear, client, door)

    def _hear(self, client: socket.socket, door: Door) -> None:
        """Queue a client that has begun its handshake, or close one that has left."""
        try:
            has_left = not client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            has_left = True
        if has_left:
            self._end(client)
            return
        self._stop_listening_to(client)
        if not self._begun:
            self._loop.call_soon(self._next_round)
        self._begun.append((client, door))

    def _next_round(self) -> None:
        for _ in range(min(HANDSHAKES_AT_ONCE, len(self._begun))):
            self._connect(*self._begun.popleft())
        if self._begun:
            self._loop.call_soon(self._next_round)

    def _connect(self, client: socket.socket, door: Door) -> None:
        task = self._loop.create_task(self._connected(client, door))
        self._opening[task] = None
        task.add_done_callback(lambda task: self._opening.pop(task, None))

    async def _connected(self, client: socket.socket, door: Door) -> None:
        try:
            where = None if door.tls is None else client.getpeername()
            await self._loop.connect_accepted_socket(door.connection, client, ssl=door.tls)
        except ssl.SSLError as error:  # such as: it did not speak TLS
            if self._seldom.is_due(said := words(error), said):  # anybody may send garbage
                log.info("TLS with the client %s failed: %s", where, said)
            client.close()
        except OSError as error:
            log.debug("a client was not connected: %s", error)
            client.close()

    def _end_oldest(self) -> bool:
        """Close the client that has been here longest, first those that have not begun their
        handshake. Return whether there is one."""
        if self._silent:
            self._end(next(iter(self._silent)))
            return True
        task = next(iter(self._opening), None)
        if task is not None:
            del self._opening[task]
            task.cancel()
        return task is not None

    def _end(self, client: socket.socket) -> None:
        self._stop_listening_to(client)
        client.close()

    def _stop_listening_to(self, client: socket.socket) -> None:
        self._silent.pop(client).cancel()
        self._loop.remove_reader(client)
