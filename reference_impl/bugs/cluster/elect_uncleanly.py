"""A controller that elects any living replica when no complete one is alive."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.core.rules import Rules


class ElectUncleanly(Rules):
    """Real-world kin: Kafka before 0.11, where unclean elections were allowed by default (KIP-106).

    Breaks:     no election may lose a committed record unless the topic allows it (KIP-106,
                KIP-966).
    Caught by:  workload appends, nemesis last-replica-standing, checkers
                invariant leader-is-complete or lost_writes.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def unclean_candidates(self, replicas: Collection[int], is_allowed: bool) -> Collection[int]:
        """Return all replicas, whatever is allowed."""
        return replicas
