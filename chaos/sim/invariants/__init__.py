"""The invariants that are checked after each step of a simulated node that has changed its disk.

A checker judges what clients have seen. An invariant sees what no client may have read yet, at the
moment when it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chaos.sim.invariants.known_log import KnownLog
from chaos.sim.invariants.offsets import offsets_are_in_order, offsets_never_go_back
from chaos.sim.invariants.producers import (
    producer_state_is_that_of_the_log,
    sequences_continue,
    undecided_transactions_hold_the_last_stable_offset,
)
from chaos.sim.invariants.records import written_batches_stay
from reference_impl.core.log.partition_log import PartitionLog

Invariant = Callable[[KnownLog, PartitionLog], Iterator[str]]
"""A function that yields a sentence for each contradiction between what was known of a log before
the step and the log after it."""
INVARIANTS: Mapping[str, Invariant] = {
    "offsets-in-order": offsets_are_in_order,
    "offsets-never-go-back": offsets_never_go_back,
    "written-batches-stay": written_batches_stay,
    "sequences-continue": sequences_continue,
    "producer-state": producer_state_is_that_of_the_log,
    "last-stable-offset": undecided_transactions_hold_the_last_stable_offset,
}
