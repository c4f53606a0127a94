"""Start one cluster of which some nodes are Apache Kafka and the others the reference.

Each node is both broker and controller, and all have one cluster id. Such a cluster works only if
the nodes send each other Kafka's own requests, and write Kafka's own records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path

from chaos.means import leftovers
from chaos.targets.apache import ApacheKafka, existing_cluster, format_nodes, kafka_uuid
from chaos.targets.clusters.kraft import KraftCluster, laid_out, undone_on_failure
from chaos.targets.clusters.node import LocalNode
from chaos.targets.reference import NODES_MAX, Reference
from chaos.values.fault_kinds import ADMIN_FAULTS, LINK_FAULTS, PROCESS_FAULTS
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Cluster, TargetError

APACHE, REFERENCE = "apache", "reference"
USUAL = f"{APACHE}=2,{REFERENCE}=1"
LEVELS = ("--feature", "share.version=0", "--feature", "streams.version=0")
"""The options of StorageTool that turn off the features which the reference broker does not serve;
otherwise it could not register with the controllers."""


class Mixed:
    """One cluster of nodes of Apache Kafka and of the reference broker."""

    faults: frozenset[type[Fault]] = PROCESS_FAULTS | LINK_FAULTS | ADMIN_FAULTS | {Heal}

    def __init__(self, counts: Mapping[str, int], bug: str | None = None) -> None:
        """Create the target. counts: the number of nodes of each kind, in the order of the nodes'
        numbers. bug: the planted bug of the reference's nodes."""
        ends = list(accumulate(counts.values(), initial=1))
        self.numbers = {
            kind: range(*bounds) for kind, bounds in zip(counts, pairwise(ends), strict=True)
        }
        """Kind -> the numbers of its nodes."""
        self.nodes = sum(counts.values())
        self.name = "mixed:" + ",".join(f"{kind}={count}" for kind, count in counts.items())
        self._apache, self._reference = ApacheKafka(), Reference(bug)

    def start(
        self,
        directory: Path,
        nodes: int = 0,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start the nodes and wait until each serves and knows all others. Their number is part of
        the target's name; `nodes` is ignored. Raise TargetError if they cannot be started or do not
        become ready."""
        java = self._apache.java()
        directory = directory.resolve()  # each node runs in a working directory of its own
        leftovers.remove()
        config = config or {}
        layout, links = laid_out(self.name, directory, self.nodes, proxied)
        with undone_on_failure(self.name, layout, links):
            cluster_id = existing_cluster(directory) or kafka_uuid()
            of_apache, added = self._apache.nodes_of(
                java, directory, layout, self.numbers[APACHE], config
            )
            format_nodes(of_apache, java, cluster_id, *LEVELS)
            own, added_to_own = self._reference.nodes_of(
                directory, layout, self.numbers[REFERENCE], config, cluster_id
            )
        named, members = (self.name, self._apache.version), sorted([*of_apache, *own], key=_number)
        network = layout, links
        cluster = KraftCluster(named, members, self.faults, network, [*added, *added_to_own])
        cluster.start()
        return cluster


def _number(member: LocalNode) -> int:
    return member.number


def of_both_kinds(rest: str, bug: str | None) -> Mixed:
    """Return the target for a text like "apache=2,reference=1", which "" stands for. Raise
    TargetError for any other form, and for more than NODES_MAX nodes."""
    rest = rest or USUAL
    found = dict(re.findall(r"(apache|reference)=([1-9]\d*)", rest))
    counts = {kind: int(count) for kind, count in found.items()}
    if ",".join(f"{kind}={count}" for kind, count in counts.items()) != rest or len(counts) < 2:
        raise TargetError(f"mixed:{rest} names no cluster; write for example mixed:{USUAL}")
    if sum(counts.values()) > NODES_MAX:
        raise TargetError(
            f"mixed:{rest}: at most {NODES_MAX} nodes fit on this machine; name fewer"
        )
    return Mixed(counts, bug)
