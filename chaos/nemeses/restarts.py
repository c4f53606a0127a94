"""End processes, cleanly or by SIGKILL, or pause them for moments.

The page cache survives all of these faults, even if every process is killed at once: an
acknowledged record may be unavailable for a while and must not be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import Fault, Heal, Kill, Pause, Shutdown, SlowLinks


class RollingRestart:
    """Shut down and restart one node after the other, as an upgrade does.

    A node hands over its leaderships before it ends (KIP-631, controlled shutdown), and the next
    one is stopped only when all nodes are back.
    """

    name = "rolling-restart"
    faults: frozenset[type[Fault]] = frozenset({Shutdown, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield clean shutdowns of one node after another, each with a heal within a second; the
        runner waits after each heal until all nodes answer, half a minute at most."""
        return rounds(rng, lambda: Shutdown("next"), (0.5, 3.0), (0.0, 1.0))


class PauseStorm:
    """Pause processes for moments, one after another, as if the machine were short of every
    resource.

    Each pause is shorter than a session, so that no node is fenced, but long enough for requests to
    time out in changing order.
    """

    name = "pause-storm"
    faults: frozenset[type[Fault]] = frozenset({Pause, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield ten to nineteen short pauses, then after 2 to 4 seconds one more, over and over."""
        while True:
            for _ in range(rng.randrange(10, 20)):
                yield rng.uniform(0.02, 0.2), Pause(rng.choice(("leader", "random", "all")))
                yield rng.uniform(0.02, 0.4), Heal()
            yield rng.uniform(2.0, 4.0), Pause("random")
            yield 0.1, Heal()


class _Kills:
    """Kill nodes of one role, heal, and repeat."""

    whom: str
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})
    nodes_min = 1
    calm_s, away_s = (2.0, 5.0), (0.5, 4.0)

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: Kill(self.whom), self.calm_s, self.away_s)


class KillController(_Kills):
    """Kill the active controller; the same node may also lead partitions."""

    name, whom = "kill-controller", "controller"


class KillGroupCoordinator(_Kills):
    """Kill the coordinator of a group, so that its members and offsets move to another node
    (KIP-848).

    Committed offsets must not change. This nemesis is refused for workloads without groups.
    """

    name, whom = "kill-group-coordinator", "group-coordinator"


class KillTransactionCoordinator(_Kills):
    """Kill the coordinator of a transactional id: its successor must end the open transaction
    (KIP-98).

    This nemesis is refused for workloads without transactions.
    """

    name, whom = "kill-transaction-coordinator", "transaction-coordinator"


class KillMinority(_Kills):
    """Kill fewer than half of the nodes: the others must continue to serve."""

    name, whom = "kill-minority", "minority"
    nodes_min = 3


class KillMajority(_Kills):
    """Kill more than half of the nodes: no controller can be elected until they are back."""

    name, whom = "kill-majority", "majority"
    nodes_min = 3


class KillAll(_Kills):
    """Kill all nodes at once; the machine and its page cache survive."""

    name, whom = "kill-all", "all"
    calm_s, away_s = (3.0, 6.0), (0.1, 1.0)


class KillAgain:
    """Kill all nodes, and once or twice more when they are back, while they elect a controller over
    slow links.

    A voter that has voted before the kill must not vote for another node in that epoch afterwards
    (KIP-595).
    """

    name = "kill-again"
    faults: frozenset[type[Fault]] = frozenset({Kill, SlowLinks, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield rounds of two or three kills, with calm between the rounds in which the nodes elect
        a controller."""
        while True:
            yield rng.uniform(3.0, 5.0), Kill("all")
            for _ in range(rng.randint(1, 2)):
                yield rng.uniform(0.1, 0.5), Heal()
                yield 0.0, SlowLinks("all", latency_ms=300, jitter_ms=200, where="controllers")
                yield rng.uniform(0.5, 3.0), Kill("all")
            yield rng.uniform(0.1, 0.5), Heal()
