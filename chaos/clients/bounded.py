"""Bound the time of calls into a client library that may ignore its own time-out.

librdkafka's send_offsets_to_transaction waits for ever if the group's coordinator goes away at the
wrong moment (librdkafka issues 5456 and 5511, open in 2.16). A process of a run must not hang.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(timeout_s: float, call: Callable[[], T]) -> T:
    """Run the call in a thread of its own. Return its result, or raise its error. Raise
    TimeoutError if it takes too long: the call then continues in its thread, so the objects that it
    uses must not be used again."""
    returned: list[T] = []
    raised: list[Exception] = []

    def work() -> None:
        try:
            returned.append(call())
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="bounded call", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if raised:
        raise raised[0]
    if not returned:
        raise TimeoutError(f"not done within {timeout_s:g} s")
    return returned[0]
