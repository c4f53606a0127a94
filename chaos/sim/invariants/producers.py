"""The state that a broker keeps of producers agrees with its log."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.known_log import KnownLog
from reference_impl.core.broker import Broker
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.producers.state import increment_sequence


def sequences_continue(known: KnownLog, log: PartitionLog) -> Iterator[str]:
    """Yield a sentence for an added batch whose first sequence number does not follow the last one
    of its producer and epoch (KIP-98). Skip the first step after a restart, and a compacted topic,
    in which the cleaner may leave gaps."""
    if known.kept_to is not None or log.config.is_compacted:
        return
    last, epochs = dict(known.producers), dict(known.epochs)
    for one in known.added:
        header = one.header
        producer_id, epoch = header.producer_id, header.producer_epoch
        if producer_id < 0:
            continue
        if epochs.get(producer_id) != epoch:
            last.pop(producer_id, None)  # a marker may begin the epoch, too (KIP-890)
        before = last.get(producer_id)
        if before is not None and one.marker is None:
            follows = increment_sequence(before.last_sequence, 1)
            if header.base_sequence != follows:
                yield (
                    f"the batch at offset {header.base_offset} of producer {producer_id}, epoch"
                    f" {epoch}, begins with sequence {header.base_sequence} instead of {follows}"
                )
        if one.marker is None:
            last[producer_id] = header
        epochs[producer_id] = epoch


def producer_state_is_that_of_the_log(known: KnownLog, log: PartitionLog) -> Iterator[str]:
    """Yield a sentence for a producer with an added batch whose epoch or last sequence number the
    log has and the producer state has not (KIP-98)."""
    newest = {one.header.producer_id: one for one in known.added}
    for producer_id, one in newest.items():
        if producer_id < 0:
            continue
        entry, header = log.producer_state.entry(producer_id), one.header
        wanted = header.producer_epoch, None if one.marker is not None else header.last_sequence
        if entry is None:
            yield f"the state of producer {producer_id} is missing; the log says {wanted}"
        elif wanted not in (
            (entry.producer_epoch, None),
            (entry.producer_epoch, entry.last_sequence),
        ):
            has = entry.producer_epoch, entry.last_sequence
            yield f"the state of producer {producer_id} is {has}; the log says {wanted}"


def undecided_transactions_hold_the_last_stable_offset(
    known: KnownLog, log: PartitionLog
) -> Iterator[str]:
    """Yield a sentence if the last stable offset is not the first offset of the oldest undecided
    transaction that the log shows, or else the high watermark (KIP-98). Skip a compacted topic, and
    a log whose high watermark is below its end."""
    is_restart = known.kept_to is not None
    open_since = {} if is_restart else dict(known.open_since)
    for one in known.added:
        header = one.header
        if one.marker is not None:
            open_since.pop(header.producer_id, None)
        elif header.is_transactional:
            open_since.setdefault(header.producer_id, header.base_offset)
    if log.high_watermark < log.log_end_offset or log.config.is_compacted:
        return
    expected = min([*open_since.values(), log.high_watermark])
    if expected >= log.log_start_offset and log.last_stable_offset != expected:
        yield f"the last stable offset is {log.last_stable_offset}; the log says {expected}"


def producer_ids_are_given_once(cluster: KnownCluster, broker: Broker) -> Iterator[str]:
    """Yield a sentence if a node may assign producer ids that another node may assign, too, or that
    it had in its block before and has assigned since (KIP-730). Note its blocks."""
    node = broker.node_id
    for ids in broker.producer_ids.blocks:
        if not ids:
            continue
        for end, (owner, block, following) in cluster.producer_ids.items():
            goes_on = (owner, end) == (node, ids.stop) and ids.start >= following
            if not goes_on and ids.start < end and block.start < ids.stop:
                yield (
                    f"node {node} may assign the producer ids {ids.start} to {ids.stop - 1}; node"
                    f" {owner} had {block.start} to {end - 1}, and was to go on at {following}"
                )
        _, block, _ = cluster.producer_ids.get(ids.stop, (node, ids, ids.start))
        cluster.producer_ids[ids.stop] = node, block, ids.start
