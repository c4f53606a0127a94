"""Send responses whose records go from file to socket without passing through this process.

Source: sendfile(2); FileRecords.java, writeTo. On a TLS connection the process must encrypt the
bytes, so it reads them in pieces. A response that the socket accepts at once is sent without a
task; otherwise the event loop calls `go_on` repeatedly.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import cast

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.storage import StorageError
from reference_impl.host.disk import DiskFile

PIECE_BYTES = 1 << 20
"""The bytes sent at once; then other connections have their turn."""

Ended = Callable[[Exception | None], None]
"""Called once: with None when all is sent, or with what went wrong in the middle."""


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
        """How much of the first part was sent."""
        self._file = -1
        """A descriptor of the first part's file, once it was begun."""
        self._progressed = progressed
        self._ended = ended

    def go_on(self) -> None:
        """Send as much as the socket accepts now, at most one piece."""
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
        # A duplicate, since the file may be deleted, or its other descriptor closed, meanwhile.
        if self._file < 0:
            self._file = cast(DiskFile, part.file).duplicate()
        return self._file

    def _note_sent(self, count: int) -> None:
        part = self._parts[0]
        if not count and len(part):
            file = cast(Slice, part).file
            raise StorageError(
                file.path, f"ends {len(part) - self._sent} bytes before its last batch"
            )
        self._sent += count
        self._progressed()
        if self._sent == len(part):
            self._sent = 0
            self._parts.popleft()
            self._close_file()


class Direct(FileAnswer):
    """A response sent by sendfile, bypassing the transport. It writes to a duplicate of the
    socket's descriptor, since the transport does not share its own."""

    def __init__(
        self,
        transport: asyncio.Transport,
        parts: Sequence[bytes | Slice],
        progressed: Callable[[], None],
        ended: Ended,
    ) -> None:
        super().__init__(transport, parts, progressed, ended)
        self._socket = -1
        self._is_watched = self._has_limits = False

    def _send(self) -> None:
        if self._transport.get_write_buffer_size():
            # No byte may wait that goes before: resume_writing comes once they are all gone.
            self._has_limits = True
            self._transport.set_write_buffer_limits(high=0)
            return
        if self._socket < 0:
            self._socket = os.dup(self._transport.get_extra_info("socket").fileno())
        left = PIECE_BYTES
        try:
            while self._parts and left > 0:
                left -= self._send_some(left)
        except BlockingIOError:
            left = 0
        if self._parts and not self._is_watched:
            self._is_watched = True
            self._loop.add_writer(self._socket, self.go_on)

    def _send_some(self, most: int) -> int:
        part = self._parts[0]
        if isinstance(part, Slice):
            start, count = part.position + self._sent, min(most, part.size - self._sent)
            sent = os.sendfile(self._socket, self._file_of(part), start, count)
        else:
            sent = os.write(self._socket, memoryview(part)[self._sent :])
        self._note_sent(sent)
        return sent

    def close(self) -> None:
        super().close()
        if self._is_watched:
            self._loop.remove_writer(self._socket)
            self._is_watched = False
        if self._socket >= 0:
            os.close(self._socket)
            self._socket = -1
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
        """Start sending. takes_more: whether the transport's buffer has room; if not, the transport
        calls resume_writing later."""
        super().__init__(transport, parts, progressed, ended)
        self._takes_more = takes_more

    def _send(self) -> None:
        left = PIECE_BYTES
        while self._parts and self._takes_more():
            if left <= 0:
                self._loop.call_soon(self.go_on)
                return
            part = self._parts[0]
            if isinstance(part, Slice):
                start, count = part.position + self._sent, min(left, part.size - self._sent)
                data = os.pread(self._file_of(part), count, start)
            else:
                data = part
            self._transport.write(data)
            left -= len(data)
            self._note_sent(len(data))


def joined(parts: Sequence[bytes | Slice]) -> deque[bytes | Slice]:
    """Return the parts with adjacent bytes joined, since each part costs a system call."""
    found: deque[bytes | Slice] = deque()
    for is_bytes, run in groupby(parts, lambda part: isinstance(part, bytes)):
        if is_bytes:
            found.append(b"".join(cast(Iterator[bytes], run)))
        else:
            found.extend(run)
    return found
