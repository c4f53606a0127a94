"""A voter that does not compare the candidate's log with its own."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd


class VoteForShorterLogs(Rules):
    """Real-world kin: elections that choose a leader without a look at the logs.

    Breaks:     every later leader must have all committed records, so a voter must refuse a
                candidate whose log is older than its own (Raft, 5.4.1; KIP-595).
    Caught by:  workload appends, nemesis last-replica-standing (the node that was down for five
                seconds lacks at least the record that fenced it, and starts together with the
                controller that was up), checkers invariant leader-is-complete or
                invariant committed-stays.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def is_up_to_date(self, candidate: LogEnd, own: LogEnd) -> bool:
        """Return True for any log."""
        return True
