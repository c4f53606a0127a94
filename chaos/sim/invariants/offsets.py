"""The offsets of a log are in order, and go forward while a process lives."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.sim.invariants.known_log import KnownLog, Offsets
from reference_impl.core.log.partition_log import PartitionLog


def offsets_are_in_order(_: KnownLog, log: PartitionLog) -> Iterator[str]:
    """Yield a sentence unless log start and last stable offset are at most the high watermark, and
    that is at most the log end (KIP-98, KIP-207). Yield one if the recovery point is above the log
    end."""
    now = Offsets.of(log)
    if not max(now.log_start, now.last_stable) <= now.high_watermark <= now.log_end:
        yield f"the offsets are out of order: {now}"
    if now.recovery_point > now.log_end:
        yield f"the recovery point is above the log end: {now}"


def offsets_never_go_back(known: KnownLog, log: PartitionLog) -> Iterator[str]:
    """Yield a sentence for each offset of a leader that goes back while it leads. Skip the first
    step after a restart, since it may set the log start back, which Kafka stores only once a
    minute."""
    if known.kept_to is not None or not known.keeps_leading:
        return
    for name, before, now in zip(Offsets._fields, known.offsets, Offsets.of(log), strict=True):
        if now < before:
            yield f"{name} goes back from {before} to {now}"


def batches_take_offsets(known: KnownLog, _: PartitionLog) -> Iterator[str]:
    """Yield a sentence for each added batch that takes no offset of its own, such as one without
    records, or that begins below the end of the batch before it (KIP-98)."""
    end = 0
    for one in known.added:
        header = one.header
        if not end <= header.base_offset <= header.last_offset:
            yield (
                f"a batch of {header.records_count} records takes the offsets {header.base_offset}"
                f" to {header.last_offset}, after a batch that ends before {end}"
            )
        end = header.last_offset + 1
