"""The settings of a node's process: its event loop, and the memory that it keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

LARGEST_BLOCK_KEPT = 31 << 20


def event_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the factory of the event loop: uvloop if it is installed, since it shortens the
    latency of requests (`make bench BENCH=broker`), else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return cast(Callable[[], asyncio.AbstractEventLoop], uvloop.new_event_loop)


def keep_freed_memory() -> None:
    """Let the C library reuse the memory of large requests and responses.

    glibc returns freed blocks of 128 KiB and more to the system at once, and each page of the next
    block then costs a page fault, which takes longer than all other work on it. After this call,
    blocks of up to 31 MiB are kept (mallopt(3), M_MMAP_THRESHOLD). Without glibc it does nothing.
    """
    bytes(LARGEST_BLOCK_KEPT)
