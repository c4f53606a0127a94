"""Answers whose records go from the file to the socket without passing through this process.

Source: sendfile(2); FileRecords.java, writeTo. On a TLS connection the bytes must be encrypted
here, so asyncio reads them in pieces instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import cast

from reference_impl.core.log.segment import Slice
from reference_impl.core.storage import StorageError
from reference_impl.host.disk import DiskFile


async def send_parts(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, parts: Sequence[bytes | Slice]
) -> None:
    """Send all of it, in order. Raises OSError or StorageError, with a part of it sent already."""
    before = bytearray()
    for part in parts:
        if not isinstance(part, Slice):
            before += part
            continue
        transport.write(bytes(before))
        before.clear()
        await send_slice(loop, transport, part)
    transport.write(bytes(before))


async def send_slice(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, part: Slice
) -> None:
    """Send these bytes of a file."""
    descriptor = cast(DiskFile, part.file).duplicate()
    with os.fdopen(descriptor, "rb") as file:
        sent = await loop.sendfile(transport, file, part.position, part.size)
    if sent != part.size:
        raise StorageError(part.file.path, f"ends {part.size - sent} bytes before its last batch")
