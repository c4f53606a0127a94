"""Notice clients that leave while nothing is read of them.

A connection with requests waiting is not read, so the event loop does not see its end. poll(2)
tells of it all the same.
"""

from __future__ import annotations

import select
from collections.abc import Iterable
from enum import Enum, auto

_HALF = getattr(select, "POLLRDHUP", 0)  # Linux has it; elsewhere the idle time must do
_WHOLE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Departure(Enum):
    """How a client has left: half closed, or gone."""

    SENDS_NO_MORE = auto()
    GONE = auto()
    """The connection is reset, or closed on both sides."""


def departures(descriptors: Iterable[int]) -> dict[int, Departure]:
    """Return the sockets of these whose other side has closed, without waiting."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, _HALF)
    return {
        descriptor: Departure.GONE if events & _WHOLE else Departure.SENDS_NO_MORE
        for descriptor, events in poll.poll(0)
    }
