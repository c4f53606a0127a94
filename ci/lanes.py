"""Run attacks in parallel threads ("lanes"), each with its own ports, and shut all of them down
together.

A night and a hunt make several attacks at once. Ctrl-C reaches only the main thread, which notifies
the lanes and waits until their current attacks have ended cleanly.
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
"""The seconds after Ctrl-C within which attacks must end cleanly and be judged."""


class Lanes:
    """Threads that share a queue of work until it is empty."""

    def __init__(self, jobs: int, work: Callable[[range], None], close: Callable[[], None]) -> None:
        """Prepare the lanes.

        work: the function that each lane runs, given its ports, until no work is left. close:
        called when a lane fails and after Ctrl-C, so that no further work is started.
        """
        self._jobs, self._work, self._close = jobs, work, close
        self._failure: BaseException | None = None
        self.interrupted = threading.Event()
        """Set after Ctrl-C, so that attacks in progress end."""

    def perform(self) -> None:
        """Start the lanes, and return when all are done. If a lane fails, start no further work,
        wait for the attacks in progress, and raise the exception of the lane that failed first.
        After Ctrl-C, end them, too, wait up to END_TIMEOUT_S, and raise KeyboardInterrupt."""
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
    """Return one range of ports per lane, so that no lane reuses the port of another lane's dead
    node. The ranges have the same length. Raise TargetError if there are not enough ports."""
    try:
        every = ports.allowed()
    except ports.NoFreePort as error:
        raise TargetError(str(error)) from error
    share = len(every) // jobs
    return [every[share * lane : share * (lane + 1)] for lane in range(jobs)]


def join(threads: Sequence[threading.Thread], deadline: float | None = None) -> None:
    """Wait until all these threads have ended, at most until `deadline` on the monotonic clock;
    signals are handled meanwhile."""
    for thread in threads:
        while thread.is_alive() and (deadline is None or time.monotonic() < deadline):
            thread.join(LOOK_EVERY_S)
