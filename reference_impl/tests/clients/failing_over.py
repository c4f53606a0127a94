"""A cluster whose nodes are killed, one after another, while clients work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

from chaos.targets import parse_target
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import Cluster

NODES = 3
KILLS = 6
CALM_S, AWAY_S = (1.0, 3.0), (0.3, 2.5)
"""The seconds between a node's return and the next kill, and those for which a node is away: some
returns come before the end of a session (3 s), most leaderships move."""


class Kills:
    """Kills a random node and brings it back, several times, in a thread of its own."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster, self._rng = cluster, Random(f"{seed}:kills")
        self._thread = threading.Thread(target=self._perform, name="kills", daemon=True)
        self._failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def _perform(self) -> None:
        try:
            for _ in range(KILLS):
                time.sleep(self._rng.uniform(*CALM_S))
                self._cluster.perform(Kill(self._rng.randint(1, NODES)))
                time.sleep(self._rng.uniform(*AWAY_S))
                self._cluster.perform(Heal())
        except BaseException as error:
            self._failure = error

    @property
    def are_over(self) -> bool:
        """Whether all nodes are back for good. Raises what has kept a node from returning."""
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()


@contextmanager
def failing_cluster(
    target: str, directory: Path, settings: Mapping[str, str], seed: int
) -> Iterator[tuple[str, Kills]]:
    """Start three nodes of the target; yield their addresses, and the kills, which begin when the
    test starts them."""
    cluster = parse_target(target).start(directory, NODES, settings)
    kills = Kills(cluster, seed)
    try:
        yield cluster.bootstrap, kills
    finally:
        cluster.stop()
