"""Check that the batches of a log do not change, not even by a restart of the node."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.sim.invariants.known_log import KnownLog
from reference_impl.core.log.partition_log import PartitionLog


def written_batches_stay(known: KnownLog, log: PartitionLog) -> Iterator[str]:
    """Yield a sentence for the first batch that a restart has lost or changed: after a kill any
    batch, after a loss of power one below the recovery point (design#filesystem,
    topicconfigs#flush.messages). Skip batches below the log start, and a compacted topic, from
    which the cleaner may remove batches."""
    if known.kept_to is None or log.config.is_compacted:
        return
    found = {one.header.base_offset: one.header.crc for one in known.added}
    for base_offset, one in known.batches.items():
        if base_offset < log.log_start_offset or one.header.last_offset >= known.kept_to:
            continue
        if found.get(base_offset) != one.header.crc:
            how = "changed" if base_offset in found else "lost"
            yield f"the restart has {how} the batch at offset {base_offset}"
            return
