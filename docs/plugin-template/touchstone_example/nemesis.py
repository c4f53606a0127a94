"""A nemesis, which yields faults and the times between them. The target performs them."""

from collections.abc import Iterator
from random import Random

from touchstone.kit import Fault, Heal, Kill


class KillTwice:
    """Kill a random node, and just after it came back kill a random node again."""

    name = "kill-twice"
    faults = frozenset({Kill, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield (seconds to wait, fault) without end; the run stops this, and heals at the end."""
        while True:
            yield rng.uniform(0.5, 1.5), Kill("random")
            yield 0.3, Heal()
            yield 0.1, Kill("random")
            yield 0.3, Heal()
