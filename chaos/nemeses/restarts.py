"""Processes that end, in good order or not, and that stop for moments.

What the page cache holds survives all of these, also where every process is killed at once: an
acknowledged record may be out of reach for a while and must not be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import Fault, Heal, Kill, Pause, Shutdown


class RollingRestart:
    """Shut down and start one node after the other, as an upgrade does.

    A node hands over what it leads before it ends (KIP-631, controlled shutdown), and the next one
    is stopped when all are back.
    """

    name = "rolling-restart"
    faults: frozenset[type[Fault]] = frozenset({Shutdown, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule restarts; the runner waits after each heal until all nodes answer."""
        return rounds(rng, lambda: Shutdown("next"), (0.5, 3.0), (0.0, 1.0))


class PauseStorm:
    """Stop processes for moments, one after the other: a machine that has too little of everything.

    Shorter than a session, so that nobody is given up; long enough for requests to time out of
    order.
    """

    name = "pause-storm"
    faults: frozenset[type[Fault]] = frozenset({Pause, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule ten to twenty short pauses, then as long a rest."""
        while True:
            for _ in range(rng.randrange(10, 20)):
                yield rng.uniform(0.02, 0.2), Pause(rng.choice(("leader", "random", "all")))
                yield rng.uniform(0.02, 0.4), Heal()
            yield rng.uniform(2.0, 4.0), Pause("random")
            yield 0.1, Heal()


class _Kills:
    """Kill nodes of one role, heal, and again."""

    whom: str
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})
    nodes_min = 1
    calm_s, away_s = (2.0, 5.0), (0.5, 4.0)

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: Kill(self.whom), self.calm_s, self.away_s)


class KillController(_Kills):
    """Kill the active controller; a partition's leader may be on the same node."""

    name, whom = "kill-controller", "controller"


class KillGroupCoordinator(_Kills):
    """Kill the coordinator of a group: its members and offsets move to another node (KIP-848).

    Committed offsets must be what they were. Refused for workloads without groups.
    """

    name, whom = "kill-group-coordinator", "group-coordinator"


class KillTransactionCoordinator(_Kills):
    """Kill the coordinator of a transactional id: its successor must end what was begun (KIP-98).

    Refused for workloads without transactions.
    """

    name, whom = "kill-transaction-coordinator", "transaction-coordinator"


class KillMinority(_Kills):
    """Kill fewer nodes than half: the others go on."""

    name, whom = "kill-minority", "minority"
    nodes_min = 3


class KillMajority(_Kills):
    """Kill more nodes than half: no controller can be elected until they are back."""

    name, whom = "kill-majority", "majority"
    nodes_min = 3


class KillAll(_Kills):
    """Kill all nodes at once; the machine, and what it had been given, lives on."""

    name, whom = "kill-all", "all"
    calm_s, away_s = (3.0, 6.0), (0.1, 1.0)
