"""The invariants that are checked after each step of a simulated node: of one log, between the
replicas of a partition, and between nodes. The metadata log is one of the logs.

A checker judges what clients have seen. An invariant sees what no client may have read yet, at the
moment when it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chaos.sim.invariants.copies import (
    committed_batches_stay,
    followers_read_only_what_is_committed,
    images_are_equal,
    leaders_commit_on_enough_replicas,
    logs_agree,
    members_have_what_is_committed,
)
from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.known_log import KnownLog
from chaos.sim.invariants.leaders import (
    epochs_have_one_leader,
    leaders_have_what_is_committed,
    votes_are_kept,
)
from chaos.sim.invariants.offsets import (
    batches_take_offsets,
    offsets_are_in_order,
    offsets_never_go_back,
)
from chaos.sim.invariants.producers import (
    producer_ids_are_given_once,
    producer_state_is_that_of_the_log,
    sequences_continue,
    undecided_transactions_hold_the_last_stable_offset,
)
from chaos.sim.invariants.records import written_batches_stay
from chaos.sim.invariants.replica import Replica
from reference_impl.core.broker import Broker
from reference_impl.core.log.partition_log import PartitionLog

Invariant = Callable[[KnownLog, PartitionLog], Iterator[str]]
"""A function that yields a sentence for each contradiction between what was known of a log before
the step and the log after it."""
INVARIANTS: Mapping[str, Invariant] = {
    "offsets-in-order": offsets_are_in_order,
    "offsets-never-go-back": offsets_never_go_back,
    "batches-take-offsets": batches_take_offsets,
    "written-batches-stay": written_batches_stay,
    "sequences-continue": sequences_continue,
    "producer-state": producer_state_is_that_of_the_log,
    "last-stable-offset": undecided_transactions_hold_the_last_stable_offset,
}
BetweenReplicas = Callable[[KnownCluster, Replica, KnownLog, int], Iterator[str]]
"""A function that yields a sentence for each contradiction between a replica after a step and what
was known of the others. The number is that of its node's process."""
BETWEEN_REPLICAS: Mapping[str, BetweenReplicas] = {
    "one-leader": epochs_have_one_leader,
    "leader-is-complete": leaders_have_what_is_committed,
    "logs-agree": logs_agree,
    "committed-stays": committed_batches_stay,
    "isr-is-complete": members_have_what_is_committed,
    "min-isr": leaders_commit_on_enough_replicas,
    "follower-high-watermark": followers_read_only_what_is_committed,
}
BetweenNodes = Callable[[KnownCluster, Broker], Iterator[str]]
"""A function that yields a sentence for each contradiction between a node and what was known of all
nodes, and notes what it shows."""
BETWEEN_NODES: Mapping[str, BetweenNodes] = {
    "one-vote": votes_are_kept,
    "images-equal": images_are_equal,
    "producer-ids-once": producer_ids_are_given_once,
}
