"""A Kafka that runs elsewhere, known only by its addresses: it can be examined, but not
attacked."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from chaos.means.connection import WireError
from chaos.targets.clusters import probe
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Cluster, Performed, TargetError
from chaos.world import Address, joined

REACH_TIMEOUT_S = 5.0
RETURN_TIMEOUT_S = 60.0
ASK_TIMEOUT_S = 5.0
POLL_S = 0.5
FAULTS: frozenset[type[Fault]] = frozenset({Heal})
"""The faults that can be performed: only Heal, which has nothing to do here."""

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:,/]+):(?P<port>\d{1,5})")


def addresses(text: str) -> list[Address]:
    """Parse host:port[,host:port…], with IPv6 addresses in brackets. Raise TargetError for any
    other text."""
    found: list[Address] = []
    for part in text.split(","):
        match = _ADDRESS.fullmatch(part.strip())
        if match is None or not 1 <= int(match["port"]) <= 65_535:
            raise TargetError(
                f"{part.strip()!r} is not an address; write host:port[,host:port], with a port from"
                " 1 to 65535"
            )
        found.append((match["host"].strip("[]"), int(match["port"])))
    return found


class BootstrapCluster:
    """A running cluster; only its addresses are known."""

    target = "bootstrap"
    version = "unknown"  # no API returns a broker's version

    def __init__(self, bootstrap: str, seeds: Sequence[Address], nodes: int) -> None:
        self.bootstrap = bootstrap
        self.listeners: Mapping[str, str] = {}
        self.nodes = nodes
        self.focus: tuple[str, int] | None = None
        self.rng = Random(0)
        self.faults = FAULTS
        self._seeds = seeds

    def perform(self, fault: Fault) -> Performed:
        if isinstance(fault, Heal):
            return Performed(fault, ())
        raise TargetError(
            f"target {self.bootstrap!r} cannot {fault.name}: it was not started here;"
            " to attack a target, start one here, such as apache:4.3.1"
        )

    def alive(self) -> bool:
        """Return whether at least one of the addresses answers ApiVersions."""
        return any(probe.answers(seed, ASK_TIMEOUT_S) for seed in self._seeds)

    def wait_ready(self, timeout_s: float = REACH_TIMEOUT_S) -> None:
        """Wait until one of the brokers answers. Raise TargetError if none does within the
        time-out."""
        deadline = time.monotonic() + timeout_s
        while True:
            failures = []
            for seed in self._seeds:
                try:
                    probe.check_kafka(seed, ASK_TIMEOUT_S)
                    return
                except WireError as error:
                    failures.append(str(error))
            if time.monotonic() > deadline:
                raise TargetError(
                    f"{self.bootstrap} does not answer ApiVersions within {timeout_s:.0f} s"
                    f" ({'; '.join(failures)}); check that a Kafka with a PLAINTEXT listener runs"
                    " there"
                )
            time.sleep(POLL_S)

    def restart(self) -> None:
        """Wait until the cluster answers again; it cannot be restarted from here. Raise TargetError
        if it does not answer within RETURN_TIMEOUT_S."""
        self.wait_ready(RETURN_TIMEOUT_S)

    def collect(self, into: Path) -> None:
        """Do nothing: the logs are on other machines."""

    def stop(self) -> None:
        """Do nothing: no process was started here."""


class BootstrapTarget:
    """The target of `--bootstrap host:port[,host:port]`. Creating it raises TargetError for any
    other text."""

    def __init__(self, bootstrap: str) -> None:
        self._seeds = addresses(bootstrap)
        self.bootstrap = ",".join(joined(seed) for seed in self._seeds)
        self.name = self.bootstrap
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Return the cluster, once a Kafka answers at the addresses; its number of nodes is the one
        in Metadata. `directory`, `nodes` and `proxied` are ignored. Raise TargetError if no Kafka
        answers, or if `config` is given, since it cannot be applied there."""
        if config:
            raise TargetError(
                f"{self.bootstrap} is running already; its configuration cannot be set here:"
                f" leave out {', '.join(config)}"
            )
        cluster = self._reached()
        for seed in self._seeds:
            with suppress(WireError):
                cluster.nodes = max(cluster.nodes, len(probe.brokers(seed, ASK_TIMEOUT_S)))
        return cluster

    def check_there(self) -> None:
        """Raise TargetError if no Kafka answers at the addresses."""
        self._reached()

    def _reached(self) -> BootstrapCluster:
        cluster = BootstrapCluster(self.bootstrap, self._seeds, 1)
        cluster.wait_ready()
        return cluster
