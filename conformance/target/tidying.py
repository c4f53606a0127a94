"""Remove what the cases created on a foreign cluster: topics, groups, users, quotas."""

from __future__ import annotations

import sys

from chaos.clients.wire.own_topics import OwnTopics, sweep
from chaos.clients.wire.removed import told
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD, run
from conformance.terms import TERMS
from conformance.wire import NONCE

MARK_TIMEOUT_S = 10.0
END_TIMEOUT_S, HURRIED_S = 30.0, 5.0
"""The longest time for the removal: after the last case, and after an examination that was cut
short."""
LONGEST_S = 4 * 3600.0


class Tidying:
    """The marker of one conformance run, and the removal of everything that carries it."""

    def __init__(self, bootstrap: str, replicas: int) -> None:
        """Remove what earlier runs have left, and create the marker of this one, unless the terms
        forbid it. Print a warning if that is not possible or takes longer than MARK_TIMEOUT_S; the
        broker is tested all the same."""
        self._own: OwnTopics | None = None
        if not TERMS.permit("produce"):  # the cases make nothing
            return
        self._own = OwnTopics(bootstrap, NONCE, LONGEST_S, False, TERMS.prefix)
        try:
            if TERMS.sweeps:
                for line in told(run(sweep(bootstrap, MARK_TIMEOUT_S, TERMS.prefix))):
                    _say(line)
            mark = self._own.mark(replicas, MARK_TIMEOUT_S)
            run(REAL_WORLD.within(MARK_TIMEOUT_S, mark))
        except (WireError, TimeoutError) as error:
            self._own = None
            _say(f"what the cases make stays on the cluster, since it cannot be marked: {error}")

    def end(self, timeout_s: float) -> None:
        """Remove everything that carries the marker, within a time limit. Print the names of things
        that remain. Do nothing if there is no marker."""
        if self._own is None:
            return
        if left := run(self._own.remove(timeout_s)).left():
            _say(
                f"could not remove what the cases have made ({'; '.join(left)}); the next"
                " examination or run on this cluster tries again"
            )


def _say(line: str) -> None:
    print(f"conformance: {line}", file=sys.stderr)
