"""Remove what the cases created on a foreign cluster: topics, groups, users, quotas."""

from __future__ import annotations

import sys

from chaos.clients.wire.own_topics import OwnTopics, sweep, told
from chaos.means.connection import WireError
from chaos.means.real_world import run
from conformance.wire import NONCE

MARK_TIMEOUT_S = 10.0
LONGEST_S = 4 * 3600.0
SHOWN_MAX = 3


class Tidying:
    """The marker of one conformance run, and the removal of everything that carries it."""

    def __init__(self, bootstrap: str, replicas: int) -> None:
        """Remove what earlier runs have left, and create the marker of this one. Print a warning if
        that is not possible; the broker is tested all the same."""
        self._own: OwnTopics | None = OwnTopics(bootstrap, NONCE, LONGEST_S, records_bear_it=False)
        try:
            for line in told(run(sweep(bootstrap))):
                _say(line)
            run(self._own.mark(replicas, MARK_TIMEOUT_S))
        except WireError as error:
            self._own = None
            _say(f"what the cases make stays on the cluster, since it cannot be marked: {error}")

    def end(self) -> None:
        """Remove everything that carries the marker, within a time limit. Print the names of things
        that remain."""
        if self._own is None:
            return
        failures = run(self._own.remove()).failures
        if failures:
            more = f" and {len(failures) - SHOWN_MAX} more" if len(failures) > SHOWN_MAX else ""
            why = "; ".join(failures[:SHOWN_MAX])
            _say(
                f"could not remove what the cases have made ({why}{more}); the next examination"
                " or run on this cluster does it"
            )


def _say(line: str) -> None:
    print(f"conformance: {line}", file=sys.stderr)
