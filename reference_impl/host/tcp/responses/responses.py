"""Send the responses of one connection in order, from memory or from files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from reference_impl.core.log.segments.segment import Slice
from reference_impl.host.tcp.busy_poll import BusyPoll
from reference_impl.host.tcp.responses.sendfile import Direct, Encrypted, Ended, FileAnswer

GATHERED_BYTES_MAX = 64 * 1024
"""The most bytes of responses that are sent together: more would hide that a client does not
read."""


class Responses:
    """The responses of one connection that are not sent yet.

    Those of requests that arrived together are sent in one write, since a write costs as much as an
    append.
    """

    def __init__(self, busy_poll: BusyPoll) -> None:
        self._busy_poll = busy_poll
        self._transport: asyncio.Transport | None = None
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._from_files: FileAnswer | None = None
        self._unsent_bytes = 0
        self.is_caught_up = True
        """Whether the transport's buffer has room."""

    def begin(self, transport: asyncio.Transport) -> None:
        """Send the responses to this transport."""
        self._transport = transport

    def end(self) -> None:
        """Discard what was not sent, because the connection is lost."""
        self._transport = None
        if self._from_files is not None:
            self._from_files.close()
            self._from_files = None

    @property
    def is_sending_files(self) -> bool:
        """Return whether a response from files is being sent."""
        return self._from_files is not None

    def gather(self, data: bytes) -> None:
        """Keep a response until `send_gathered`, or send all that were kept if they are long."""
        self._gathered.append(data)
        self._gathered_bytes += len(data)
        if self._gathered_bytes > GATHERED_BYTES_MAX:
            self.send_gathered()

    def send_gathered(self) -> None:
        """Send the responses that were kept; discard them if the connection is lost."""
        if self._gathered and self._transport is not None:
            self._transport.write(b"".join(self._gathered))
            self._busy_poll.answered()
        self._forget_gathered()

    def _forget_gathered(self) -> None:
        self._gathered.clear()
        self._gathered_bytes = 0

    def send_from_files(
        self, parts: Sequence[bytes | Slice], progressed: Callable[[], None], ended: Ended
    ) -> None:
        """Send a response parts of which lie in files, after those that were kept. Call
        `progressed` after each part, and `ended` after the last one or after an error. Do nothing
        if the connection is closed or closing."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        parts = [*self._gathered, *parts]
        self._forget_gathered()

        def done(error: Exception | None) -> None:
            self._from_files = None
            ended(error)

        if transport.get_extra_info("sslcontext") is None:
            self._from_files = Direct(transport, parts, progressed, done)
        else:
            self._from_files = Encrypted(
                transport, parts, progressed, done, lambda: self.is_caught_up
            )
        self._from_files.go_on()

    def go_on(self) -> None:
        """Continue with the response from files, since the transport's buffer has room again."""
        if self._from_files is not None:
            self._from_files.go_on()

    def has_progressed(self) -> bool:
        """Return whether the client has taken bytes from the transport's buffer since the last
        call."""
        before = self._unsent_bytes
        self._unsent_bytes = (
            0 if self._transport is None else self._transport.get_write_buffer_size()
        )
        return self._unsent_bytes < before
