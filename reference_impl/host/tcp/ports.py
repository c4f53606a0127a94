"""Choose free ports that nobody else is likely to take before a server listens on them."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import SystemRandom

HOST = "127.0.0.1"
NOT_EPHEMERAL = range(10_000, 32_768)
"""The ports that Linux gives by default neither to an outgoing connection nor to a server that asks
for any free port (ip_local_port_range)."""


def free_ports(count: int) -> list[int]:
    """Return this many ports of 127.0.0.1, chosen at random, on which nothing listens. Raise
    OSError if there are not so many."""
    found: list[int] = []
    for port in SystemRandom().sample(NOT_EPHEMERAL, len(NOT_EPHEMERAL)):
        if len(found) == count:
            break
        with suppress(OSError), socket.create_server((HOST, port)):
            found.append(port)
    if len(found) < count:
        raise OSError(f"fewer than {count} ports of {HOST} are free")
    return found
