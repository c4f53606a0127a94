"""A run on a cluster that others use as well: it changes no settings, gives its topics and groups
names of their own, and removes them at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from chaos.clients.wire import removed
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.own_topics import OwnTopics, sweep
from chaos.run.first_phase import TOLD, check_standing
from chaos.run.guests.own_names import OwnNames
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.protocols import Cluster, Workload
from chaos.world import World

CLEANUP, KEPT = "log.cleanup.policy", "delete"
"""The brokers' default of cleanup.policy, and the value that workloads rely on."""
BOUNDS_OF_TIMES = ("message.timestamp.after.max.ms", "message.timestamp.before.max.ms")
UNBOUNDED = str((1 << 63) - 1)
OF_BROKERS = frozenset(f"log.{bound}" for bound in BOUNDS_OF_TIMES)
"""The brokers' defaults of the bounds."""


class Guest:
    """The additional state and steps of a run on a cluster that others use."""

    def __init__(self, world: World, nonce: bytes, seconds: float) -> None:
        self._world = world
        self.names = OwnNames(nonce)
        self.standing: Mapping[str, str] = {}
        """The brokers' settings that are in force for the run's topics, empty before `begin`."""
        self._nonce = nonce
        self._seconds = seconds
        self._own: OwnTopics | None = None

    async def begin(self, cluster: Cluster, workload: Workload, replicas: int) -> list[str]:
        """Read the brokers' settings into `standing`, choose the topics' own settings, remove what
        earlier runs have left on the cluster (each told on standard error), and create this run's
        marker there. Return a note for each setting that differs from the workload's preference.
        Raise TargetError if a setting differs that the workload needs, WireError if the cluster
        does not answer."""
        admin = Admin(self._world, cluster.bootstrap)
        try:
            told = await admin.broker_settings(TOLD | OF_BROKERS | workload.config.keys())
        finally:
            admin.close()
        self.standing = {key: value for key, value in told.items() if key not in OF_BROKERS}
        notes = check_standing(workload, self.standing, cluster.target)
        # The brokers' clocks may be hours from ours, by which clients stamp their records.
        self.names.topic_config = {
            bound: UNBOUNDED for bound in BOUNDS_OF_TIMES if f"log.{bound}" in told
        }
        if self.standing.get(CLEANUP, KEPT) != KEPT:
            # Workloads send records without keys, which a compacted topic refuses.
            self.names.topic_config["cleanup.policy"] = KEPT
            self.standing = {**self.standing, CLEANUP: KEPT}
        for line in removed.told(await sweep(cluster.bootstrap)):
            print(f"touchstone: {line}", file=sys.stderr)
        self._own = OwnTopics(cluster.bootstrap, self._nonce, self._seconds)
        await self._own.mark(replicas)
        if isinstance(cluster, LocalCluster):
            cluster.topic_prefix = self.names.prefix
        return notes

    async def end(self, timeout_s: float) -> list[str]:
        """Remove everything that the run has created, within a time limit. Return a sentence for
        each reason why something could not be removed. Do nothing if `begin` did not get as far as
        making the marker."""
        failures = (await self._own.remove(timeout_s)).left() if self._own is not None else []
        return [
            f"{each}; it is left on the cluster, and the next run tries again" for each in failures
        ]
