"""Check that the replicas of a partition, and those of the metadata log, agree and keep committed
batches."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.sim.invariants.known_cluster import KnownCluster, added_batches, newly_committed
from chaos.sim.invariants.known_log import KnownLog
from chaos.sim.invariants.replica import Replica
from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.image_records import records_of
from reference_impl.wire import encode_metadata_record


def logs_agree(cluster: KnownCluster, replica: Replica, known: KnownLog, _: int) -> Iterator[str]:
    """Yield a sentence if two logs have a batch with the same epoch and offset, but its content or
    the batch before it differs. Since this is checked for every batch, equal batches imply equal
    logs below them (Raft's log matching; KIP-101). The cleaner may change a compacted topic."""
    if replica.log.config.is_compacted:
        return
    for batch, content in added_batches(known):
        other = cluster.batches[replica.key].get(batch)
        if other is None:
            continue
        where = f"offset {batch.base_offset}, epoch {batch.epoch}"
        if other.crc != content.crc:
            yield f"node {replica.node} has another batch at {where} than another replica"
        elif None not in (other.before, content.before) and other.before != content.before:
            yield (
                f"node {replica.node} has {content.before} before {where}, another replica had"
                f" {other.before}"
            )


def committed_batches_stay(
    cluster: KnownCluster, replica: Replica, known: KnownLog, _: int
) -> Iterator[str]:
    """Yield a sentence if a batch is committed at an offset where another batch was committed
    before, on any replica (design#replication, KIP-595). Skip a partition whose committed records
    may be lost."""
    if not cluster.keeps_committed(replica):
        return
    committed = cluster.committed[replica.key]
    for batch in newly_committed(replica, known):
        before = committed.get(batch.base_offset, batch)
        if before != batch:
            yield (
                f"node {replica.node} commits epoch {batch.epoch} at offset {batch.base_offset},"
                f" where epoch {before.epoch} was committed"
            )
            return


def members_have_what_is_committed(
    cluster: KnownCluster, replica: Replica, _: KnownLog, __: int
) -> Iterator[str]:
    """Yield a sentence if a leader commits what a member of the ISR does not have
    (design#replication, KIP-497). Skip a leader that was replaced, since it commits nothing any
    more, and a partition whose committed records may be lost."""
    is_replaced = replica.leader_epoch < cluster.newest_epochs.get(replica.key, 0)
    if not replica.leads or is_replaced or not cluster.keeps_committed(replica):
        return
    ends = cluster.ends[replica.key]
    committed = replica.log.high_watermark
    for member in replica.isr:
        end = ends.get(member, 0)
        if member != replica.node and end < committed:
            yield (
                f"the high watermark of leader {replica.node} is {committed}, and the log of"
                f" node {member}, which is in the ISR, ends at {end}"
            )


def leaders_commit_on_enough_replicas(
    _: KnownCluster, replica: Replica, known: KnownLog, __: int
) -> Iterator[str]:
    """Yield a sentence if a leader commits while its ISR is smaller than min.insync.replicas
    (KIP-966). Skip the step in which it begins to lead, and the first one after a restart. Skip a
    step with several changes of the ISR, since it may commit after one that leaves enough members
    and before the next."""
    if known.kept_to is not None or not known.keeps_leading:
        return
    if replica.partition_epoch > known.partition_epoch + 1:
        return
    before, now = known.offsets.high_watermark, replica.log.high_watermark
    if now > before and len(replica.isr) < replica.min_isr:
        yield (
            f"leader {replica.node} commits the records from {before} to {now} with the ISR"
            f" {[*replica.isr]}; min.insync.replicas is {replica.min_isr}"
        )


def followers_read_only_what_is_committed(
    cluster: KnownCluster, replica: Replica, known: KnownLog, _: int
) -> Iterator[str]:
    """Yield a sentence if the high watermark of a follower is above all that a leader has
    committed; consumers may read from followers (KIP-392). Skip a node that led before the step,
    since a leader may commit and resign in one step."""
    committed = cluster.committed_ends.get(replica.key, 0)
    if known.keeps_following and replica.log.high_watermark > committed:
        yield (
            f"the high watermark of follower {replica.node} is {replica.log.high_watermark}; no"
            f" leader has committed more than the records below {committed}"
        )


def images_are_equal(cluster: KnownCluster, broker: Broker) -> Iterator[str]:
    """Yield a sentence if two nodes have applied the metadata up to the same offset, and have
    different images (KIP-500). Note the image of this node. Its controller has an image of its own,
    which may contain decisions that are not committed. Compare it once in each epoch of the quorum,
    as soon as it ends at a committed offset: a replaced controller must have dropped its decisions
    (QuorumController.renounce)."""
    quorum, images = broker.quorum, [broker.image]
    of_controller, term = broker.controller.image, (broker.node_id, quorum.epoch)
    is_committed = of_controller.end_offset <= quorum.high_watermark
    if is_committed and term not in cluster.compared_controllers:
        cluster.compared_controllers.add(term)
        images.append(of_controller)
    for image in images:
        fingerprint = hash(tuple(map(encode_metadata_record, records_of(image))))
        first = broker.node_id, fingerprint
        node, before = cluster.images.setdefault(image.end_offset, first)
        if before != fingerprint:
            owner = "the controller of node" if image is of_controller else "node"
            yield (
                f"the images of node {node} and {owner} {broker.node_id} at offset"
                f" {image.end_offset} differ"
            )
