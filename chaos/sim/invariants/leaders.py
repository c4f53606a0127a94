"""Each epoch has one leader, and each voter one vote in it."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.known_log import KnownLog
from chaos.sim.invariants.replica import Replica
from reference_impl.core.broker import Broker


def epochs_have_one_leader(
    cluster: KnownCluster, replica: Replica, _: KnownLog, life: int
) -> Iterator[str]:
    """Yield a sentence if two nodes, or two processes of a node, lead in one epoch: of a partition
    (KIP-101, KIP-631), or of the quorum (KIP-595)."""
    if not replica.leads:
        return
    led = cluster.leaders.get((replica.key, replica.leader_epoch), (replica.node, life))
    if led[0] != replica.node:
        yield f"nodes {led[0]} and {replica.node} both lead in epoch {replica.leader_epoch}"
    elif led[1] != life:
        yield f"two processes of node {replica.node} lead in epoch {replica.leader_epoch}"


def leaders_have_what_is_committed(
    cluster: KnownCluster, replica: Replica, known: KnownLog, _: int
) -> Iterator[str]:
    """Yield a sentence if a leadership begins with a log that is shorter than what was committed
    (Raft, 5.4; KIP-966). Skip a partition whose committed records may be lost."""
    is_new = replica.leads and not known.keeps_leading
    committed = cluster.committed_ends.get(replica.key, 0)
    end = replica.log.log_end_offset
    if is_new and end < committed and cluster.keeps_committed(replica):
        yield (
            f"node {replica.node} begins to lead in epoch {replica.leader_epoch} at offset {end};"
            f" everything below {committed} was committed"
        )


def votes_are_kept(cluster: KnownCluster, broker: Broker) -> Iterator[str]:
    """Yield a sentence if a voter votes for two candidates in one epoch of the quorum, in one
    process or in two (KIP-595). Note its vote."""
    epoch, voted = broker.quorum.epoch, broker.quorum.election.voted_id
    if voted is None:
        return
    before = cluster.votes.setdefault((broker.node_id, epoch), voted)
    if before != voted:
        yield f"node {broker.node_id} votes for {before} and for {voted} in epoch {epoch}"
