"""Send responses whose records go from file to socket without passing through this process.

Source: sendfile(2); FileRecords.java, writeTo. On a TLS connection the process must encrypt the
bytes, so it reads them in pieces. A response that the socket accepts at once is sent without a
task; otherwise the event loop calls `go_on` repeatedly.
"""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from asyncio.trsock import TransportSocket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import cast

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.storage import StorageError
from reference_impl.host.disk import DiskFile

PIECE_BYTES = 1 << 20
"""The bytes sent at once, after which other connections have their turn."""
CORK: int | None = getattr(socket, "TCP_CORK", None)
"""The option that holds packets back until they are full; only Linux has it."""

Ended = Callable[[Exception | None], None]
"""A function that is called once at the end: with None if all is sent, else with the error that
prevented it."""


class FileAnswer(ABC):
    """One response in the process of being sent: bytes and slices of files, in order."""

    def __init__(
        self,
        transport: asyncio.Transport,
        parts: Sequence[bytes | Slice],
        progressed: Callable[[], None],
        ended: Ended,
    ) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._parts = joined(parts)
        self._sent = 0
        """The number of bytes of the first part that were sent."""
        self._file = -1
        """A duplicate of the descriptor of the first part's file, while its rest waits."""
        self._progressed = progressed
        self._ended = ended

    def go_on(self) -> None:
        """Send as much as the socket accepts now, at most one piece. Call `ended` if nothing is
        left, or an error prevents it; do nothing if the connection is closing."""
        if self._transport.is_closing():
            return
        try:
            self._send()
        except (OSError, StorageError) as error:
            self._end(error)
        else:
            if not self._parts:
                self._end(None)

    def _end(self, error: Exception | None) -> None:
        self.close()
        self._ended(error)

    @abstractmethod
    def _send(self) -> None:
        """Send at most one piece, and arrange a further call of `go_on` if something is left."""

    def close(self) -> None:
        """Stop sending, and close the descriptors."""
        self._parts.clear()
        self._close_file()

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _file_of(self, part: Slice) -> int:
        return self._file if self._file >= 0 else cast(DiskFile, part.file).descriptor()

    def _keep_file(self) -> None:
        """Duplicate the descriptor of the file whose rest waits, if one does, since the file may be
        deleted, or its other descriptor closed, meanwhile."""
        if self._file < 0 and self._parts and isinstance(self._parts[0], Slice):
            self._file = cast(DiskFile, self._parts[0].file).duplicate()

    def _note_sent(self, count: int) -> None:
        part = self._parts[0]
        if not count and len(part):
            file = cast(Slice, part).file
            raise StorageError(
                file.path, f"it ends {len(part) - self._sent} bytes before its last batch does"
            )
        self._sent += count
        self._progressed()
        if self._sent == len(part):
            self._sent = 0
            self._parts.popleft()
            self._close_file()


class Direct(FileAnswer):
    """A response sent by sendfile, bypassing the transport.

    While the socket accepts everything, the transport's own descriptor is used. To wait for room
    the descriptor is duplicated, since the event loop does not let others watch a descriptor of a
    transport.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        parts: Sequence[bytes | Slice],
        progressed: Callable[[], None],
        ended: Ended,
    ) -> None:
        super().__init__(transport, parts, progressed, ended)
        self._watched = -1
        """A duplicate of the socket's descriptor, while the response waits for room."""
        self._has_limits = False

    def _send(self) -> None:
        if self._transport.get_write_buffer_size():
            # Earlier bytes must be sent first: with this limit, resume_writing comes once all are.
            self._has_limits = True
            self._transport.set_write_buffer_limits(high=0)
            self._keep_file()
            return
        left = PIECE_BYTES
        endpoint: TransportSocket = self._transport.get_extra_info("socket")
        descriptor = endpoint.fileno()
        with corked(endpoint), suppress(BlockingIOError):
            while self._parts and left > 0:
                left -= self._send_some(descriptor, left)
        self._keep_file()
        if self._parts and self._watched < 0:
            self._watched = os.dup(descriptor)
            self._loop.add_writer(self._watched, self.go_on)

    def _send_some(self, descriptor: int, most: int) -> int:
        part = self._parts[0]
        if isinstance(part, Slice):
            start, count = part.position + self._sent, min(most, part.size - self._sent)
            sent = os.sendfile(descriptor, self._file_of(part), start, count)
        else:
            sent = os.write(descriptor, memoryview(part)[self._sent :])
        self._note_sent(sent)
        return sent

    def close(self) -> None:
        super().close()
        if self._watched >= 0:
            self._loop.remove_writer(self._watched)
            os.close(self._watched)
            self._watched = -1
        if self._has_limits:
            self._has_limits = False
            self._transport.set_write_buffer_limits()


class Encrypted(FileAnswer):
    """A response written to the transport, which encrypts it."""

    def __init__(
        self,
        transport: asyncio.Transport,
        parts: Sequence[bytes | Slice],
        progressed: Callable[[], None],
        ended: Ended,
        takes_more: Callable[[], bool],
    ) -> None:
        """Send nothing before `go_on` is called. takes_more: whether the transport's buffer has
        room; if not, the transport calls resume_writing later."""
        super().__init__(transport, parts, progressed, ended)
        self._takes_more = takes_more

    def _send(self) -> None:
        left = PIECE_BYTES
        while self._parts and self._takes_more():
            if left <= 0:
                self._loop.call_soon(self.go_on)
                break
            part = self._parts[0]
            if isinstance(part, Slice):
                start, count = part.position + self._sent, min(left, part.size - self._sent)
                data = os.pread(self._file_of(part), count, start)
            else:
                data = part
            self._transport.write(data)
            left -= len(data)
            self._note_sent(len(data))
        self._keep_file()


@contextmanager
def corked(endpoint: TransportSocket) -> Iterator[None]:
    """Let a socket gather what is written meanwhile into full packets (tcp(7)): a header that goes
    alone wakes the client before there are records to read."""
    if CORK is None:
        yield
        return
    endpoint.setsockopt(socket.IPPROTO_TCP, CORK, 1)
    yield
    endpoint.setsockopt(socket.IPPROTO_TCP, CORK, 0)


def joined(parts: Sequence[bytes | Slice]) -> deque[bytes | Slice]:
    """Return the parts with adjacent bytes joined, since each part costs a system call."""
    found: deque[bytes | Slice] = deque()
    for is_bytes, run in groupby(parts, lambda part: isinstance(part, bytes)):
        if is_bytes:
            found.append(b"".join(cast(Iterator[bytes], run)))
        else:
            found.extend(run)
    return found
