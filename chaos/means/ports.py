"""Choose loopback addresses and ports that remain free for a node while it is down.

They are never chosen from the kernel's ephemeral range: while a killed broker's port is unused, the
kernel may give it to an outgoing connection (the broker then cannot come back), and a client that
dials a dead ephemeral port of its own host can even connect to itself.

Runs at the same time each choose from a range of their own (TOUCHSTONE_PORTS, as `touchstone
nightly --jobs` sets it): the port of one's dead node looks free to every other.
"""

from __future__ import annotations

import os
import random
import re
import socket
from pathlib import Path

from chaos.values.protocols import TargetError

LOWEST = 10_000
HIGHEST = 65_535
ATTEMPTS_MAX = 500
VARIABLE = "TOUCHSTONE_PORTS"
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class NoFreePort(TargetError):
    """Raised if no free port was found, or if TOUCHSTONE_PORTS is not a range of ports."""


def _highest() -> int:
    try:
        first_ephemeral = int(_RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first_ephemeral = 32_768
    return first_ephemeral - 1 if first_ephemeral > LOWEST + 1_000 else 65_000


def allowed() -> range:
    """Return the ports to choose from: the range FIRST-LAST that TOUCHSTONE_PORTS names, or the
    whole default range. Raise NoFreePort if TOUCHSTONE_PORTS is not a range of ports."""
    text = os.environ.get(VARIABLE)
    if not text:
        return range(LOWEST, _highest())
    named = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    if named is None or not 1 <= int(named[1]) <= int(named[2]) <= HIGHEST:
        raise NoFreePort(f"{VARIABLE}={text} is not a range of ports; write {LOWEST}-{_highest()}")
    return range(int(named[1]), int(named[2]) + 1)


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen at this address and port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return distinct ports, chosen at random, on which nothing listens. Host 0.0.0.0 means: not on
    any address. Raise NoFreePort if not enough are found in ATTEMPTS_MAX tries, or if
    TOUCHSTONE_PORTS is not a range of ports."""
    chosen: list[int] = []
    chosen_from = allowed()
    system_random = random.SystemRandom()  # parallel runs must not choose alike
    for _ in range(ATTEMPTS_MAX):
        port = system_random.choice(chosen_from)
        if port not in chosen and is_free(host, port):
            chosen.append(port)
        if len(chosen) == count:
            return chosen
    bounds = f"from {chosen_from.start} to {chosen_from.stop - 1}"
    raise NoFreePort(f"no {count} free ports on {host} {bounds}; stop what occupies them")
