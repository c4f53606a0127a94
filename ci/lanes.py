"""Lanes: threads that work side by side, each with ports of its own, and how all of them end.

A night and a hunt make several attacks at once. Ctrl-C reaches the main thread alone, which tells
the lanes and waits until what they have under way has ended in good order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from chaos.means import ports
from chaos.run.interrupts import Interrupts
from chaos.values.protocols import TargetError

LOOK_EVERY_S = 0.5
END_TIMEOUT_S = 180.0
"""For attacks to end in good order and the judges' last word, after Ctrl-C."""


class Lanes:
    """Threads that share work until it is done."""

    def __init__(self, jobs: int, work: Callable[[range], None], close: Callable[[], None]) -> None:
        """Prepare the lanes.

        work: what each does, given its ports, until there is nothing more to do. close: called
        where a lane fails and after Ctrl-C, so that nothing new is begun.
        """
        self._jobs, self._work, self._close = jobs, work, close
        self._failure: BaseException | None = None
        self.interrupted = threading.Event()
        """Ctrl-C came: what is under way is to end."""

    def perform(self) -> None:
        """Work until all lanes are done. Raise what ended a lane, or KeyboardInterrupt."""
        threads = [
            threading.Thread(target=self._lane, args=(own_ports,), daemon=True)
            for own_ports in shares(self._jobs)
        ]
        with Interrupts() as interrupts:
            try:
                for thread in threads:
                    thread.start()
                join(threads)
                if self._failure is not None:
                    raise self._failure
            except BaseException:
                interrupts.shield()
                self.interrupted.set()
                self._close()
                join(threads, time.monotonic() + END_TIMEOUT_S)
                raise

    def _lane(self, own_ports: range) -> None:
        try:
            self._work(own_ports)
        except BaseException as error:
            self._failure = self._failure or error
            self._close()


def shares(jobs: int) -> list[range]:
    """Return a range of ports for each of so many lanes, so that a dead node's port stays its own.

    Raise TargetError where there are none.
    """
    try:
        every = ports.allowed()
    except ports.NoFreePort as error:
        raise TargetError(str(error)) from error
    share = len(every) // jobs
    return [every[share * lane : share * (lane + 1)] for lane in range(jobs)]


def join(threads: Sequence[threading.Thread], deadline: float | None = None) -> None:
    """Wait for all that were started; signals are taken meanwhile."""
    for thread in threads:
        while thread.is_alive() and (deadline is None or time.monotonic() < deadline):
            thread.join(LOOK_EVERY_S)
