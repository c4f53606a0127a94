"""A run on a cluster that others use, too: it changes no settings, has names of its own, and takes
away what it has made."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from chaos.clients.wire.admin import Admin
from chaos.clients.wire.own_topics import OwnTopics, sweep, told
from chaos.run.first_phase import TOLD, check_standing
from chaos.run.guests.own_names import OwnNames
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.protocols import Cluster, Workload
from chaos.world import World


class Guest:
    """The means of one run to be a guest."""

    def __init__(self, world: World, nonce: bytes, seconds: float) -> None:
        self._world = world
        self.names = OwnNames(nonce)
        self.standing: Mapping[str, str] = {}
        """The settings of the brokers, once they are asked."""
        self._nonce = nonce
        self._seconds = seconds
        self._own: OwnTopics | None = None

    async def begin(self, cluster: Cluster, workload: Workload, replicas: int) -> list[str]:
        """Read the brokers' settings, remove what earlier runs have left on the cluster, and leave
        a marker there for what this run will make. Return a note for each setting that the workload
        would like otherwise. Raise TargetError if it needs one otherwise, WireError if the cluster
        does not answer."""
        admin = Admin(self._world, cluster.bootstrap)
        try:
            self.standing = await admin.broker_settings(TOLD | workload.config.keys())
        finally:
            admin.close()
        notes = check_standing(workload, self.standing, cluster.target)
        for line in told(await sweep(cluster.bootstrap)):
            print(f"touchstone: {line}", file=sys.stderr)
        self._own = OwnTopics(cluster.bootstrap, self._nonce, self._seconds)
        await self._own.mark(replicas)
        if isinstance(cluster, LocalCluster):
            cluster.topic_prefix = self.names.prefix
        return notes

    async def end(self) -> list[str]:
        """Remove what the run has made. Return what could not be removed."""
        failures = (await self._own.remove()).failures if self._own is not None else []
        return [
            f"{each}; it is left on the cluster, and the next run tries again" for each in failures
        ]
