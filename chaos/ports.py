"""Loopback addresses and ports that stay ours while a node is down.

Never from the kernel's ephemeral range: while a killed broker's port is unused, the kernel may give
it to an outgoing connection (the broker then cannot come back), and a client that dials a dead
ephemeral port of its own host can even connect to itself.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 10_000
ATTEMPTS_MAX = 500
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class NoFreePort(RuntimeError):
    """No port could be had."""


def _highest() -> int:
    try:
        first_ephemeral = int(_RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first_ephemeral = 32_768
    return first_ephemeral - 1 if first_ephemeral > LOWEST + 1_000 else 65_000


def is_free(host: str, port: int) -> bool:
    """Could a server listen there now?"""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Distinct ports on which nobody listens. Host 0.0.0.0 means: on no address at all."""
    chosen: list[int] = []
    system_random = random.SystemRandom()  # parallel runs must not choose alike
    for _ in range(ATTEMPTS_MAX):
        port = system_random.randrange(LOWEST, _highest())
        if port not in chosen and is_free(host, port):
            chosen.append(port)
        if len(chosen) == count:
            return chosen
    raise NoFreePort(f"no {count} free ports on {host} below {_highest()}; stop what occupies them")
