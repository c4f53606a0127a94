"""Answers whose records go from the file to the socket without passing through this process.

Source: sendfile(2); FileRecords.java, writeTo. On a TLS connection the bytes must be encrypted
here, so they are read in pieces instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from reference_impl.core.log.segment import Slice
from reference_impl.core.storage import StorageError
from reference_impl.host.disk import DiskFile

PIECE_BYTES = 1 << 20
"""So much at once; then other connections have their turn."""

Progressed = Callable[[], None]
"""Called after each piece that the client took."""

CaughtUp = Callable[[], Awaitable[None]]
"""Returns once the transport has nothing left that it could not send."""


async def send_parts(
    transport: asyncio.Transport,
    parts: Sequence[bytes | Slice],
    caught_up: CaughtUp,
    progressed: Progressed,
) -> None:
    """Send all of it, in order. Raises OSError or StorageError, with a part of it sent already."""
    for part in parts:
        if isinstance(part, Slice):
            await _send_slice(transport, part, caught_up, progressed)
        else:
            transport.write(part)


async def _send_slice(
    transport: asyncio.Transport, part: Slice, caught_up: CaughtUp, progressed: Progressed
) -> None:
    descriptor = cast(DiskFile, part.file).duplicate()
    try:
        if transport.get_extra_info("sslcontext") is None:
            transport.set_write_buffer_limits(high=0)  # no byte may wait that goes before
            await caught_up()
            sent = await _from_file_to_socket(transport, descriptor, part, progressed)
            transport.set_write_buffer_limits()
        else:
            sent = await _through_this_process(transport, descriptor, part, caught_up)
    finally:
        os.close(descriptor)
    if sent != part.size:
        raise StorageError(part.file.path, f"ends {part.size - sent} bytes before its last batch")


async def _from_file_to_socket(
    transport: asyncio.Transport, file: int, part: Slice, progressed: Progressed
) -> int:
    """Send from the file, and return how many bytes were sent: fewer only if the file ends early.
    It waits on a copy of the socket's descriptor, since the event loop does not share the original.
    """
    socket = os.dup(transport.get_extra_info("socket").fileno())
    try:
        sent = 0
        while sent < part.size:
            try:
                count = min(PIECE_BYTES, part.size - sent)
                step = os.sendfile(socket, file, part.position + sent, count)
            except BlockingIOError:
                await _writable(socket)
                continue
            if step == 0:
                break
            sent += step
            progressed()
            await asyncio.sleep(0)
        return sent
    finally:
        os.close(socket)


async def _writable(socket: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(socket, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(socket)


async def _through_this_process(
    transport: asyncio.Transport, file: int, part: Slice, caught_up: CaughtUp
) -> int:
    """Send a part of a file through this process, because its bytes must be encrypted on their
    way."""
    sent = 0
    while sent < part.size:
        data = os.pread(file, min(PIECE_BYTES, part.size - sent), part.position + sent)
        if not data:
            break
        transport.write(data)
        sent += len(data)
        await caught_up()
    return sent
