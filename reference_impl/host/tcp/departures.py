"""Notice clients that disconnect while the broker does not read from them.

The broker does not read from a connection whose requests are waiting, so the event loop does not
see the end of its stream. poll(2) reports it nevertheless.
"""

from __future__ import annotations

import select
from collections.abc import Iterable
from enum import Enum, auto

_HALF = getattr(select, "POLLRDHUP", 0)  # Linux only; elsewhere the idle limit must suffice
_WHOLE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Departure(Enum):
    """The ways in which a client can disconnect: it closed its sending side only, or it is gone."""

    SENDS_NO_MORE = auto()
    GONE = auto()
    """The connection is reset, or closed on both sides."""


def departures(descriptors: Iterable[int]) -> dict[int, Departure]:
    """Return, without waiting, those sockets whose other side has disconnected, and how."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, _HALF)
    return {
        descriptor: Departure.GONE if events & _WHOLE else Departure.SENDS_NO_MORE
        for descriptor, events in poll.poll(0)
    }
