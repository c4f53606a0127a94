"""Invariants of producers and transactions: valid ids, epochs and states."""

from __future__ import annotations

from conformance.case import expect_that
from conformance.invariants.shared import NONE, once_each, rows
from reference_impl.wire import Struct

STATES = {
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
}
BEGUN = {"Ongoing", "PrepareCommit", "PrepareAbort"}


def initialised(version: int, asked: Struct, answer: Struct) -> None:
    """Require of a successful answer a producer id and an epoch, and no ongoing transaction unless
    the request asked to keep it."""
    told = (answer.producer_id, answer.producer_epoch)
    if answer.error_code != NONE:
        return
    expect_that(min(told) >= 0, "(producer id, epoch)", ">= 0", told)
    if version >= 6 and not asked.keep_prepared_txn:
        ongoing = (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
        expect_that(ongoing == (-1, -1), "ongoing transaction", (-1, -1), ongoing)


def ended(version: int, asked: Struct, answer: Struct) -> None:
    """Require, from version 5 on, the producer's same or next epoch, or a new producer id with
    epoch 0 (KIP-890)."""
    if version < 5 or answer.error_code != NONE:
        return
    told = (answer.producer_id, answer.producer_epoch)
    same = (asked.producer_id, asked.producer_epoch)
    following = [same, (same[0], same[1] + 1)]
    rotated = told[0] >= 0 and told[0] != same[0] and told[1] == 0
    expect_that(
        told in following or rotated,
        "(producer id, epoch)",
        f"one of {following}, or a new id with epoch 0",
        told,
    )


def producers(version: int, asked: Struct, answer: Struct) -> None:
    """Require each producer once, with an id and an epoch, other values of at least -1, and no
    producers beside an error."""
    for partition in rows(answer, "topics partitions"):
        if partition.error_code != NONE:
            count = len(partition.active_producers)
            expect_that(count == 0, "producers beside an error", 0, count)
        once_each((p.producer_id for p in partition.active_producers), "producers")
        for found in partition.active_producers:
            ids = (found.producer_id, found.producer_epoch)
            expect_that(min(ids) >= 0, "(producer id, epoch)", ">= 0", ids)
            told = (
                found.last_sequence,
                found.last_timestamp,
                found.coordinator_epoch,
                found.current_txn_start_offset,
            )
            expect_that(
                min(told) >= -1, "(sequence, timestamp, coordinator epoch, start)", ">= -1", told
            )


def described(version: int, asked: Struct, answer: Struct) -> None:
    """Require a known transaction state, valid ids and times, and partitions only while there is a
    transaction."""
    for found in answer.transaction_states:
        if found.error_code != NONE:
            continue
        name, state = found.transactional_id, found.transaction_state
        expect_that(state in STATES, f"state of {name}", f"one of {sorted(STATES)}", state)
        told = (found.producer_id, found.producer_epoch, found.transaction_timeout_ms)
        expect_that(
            min(told[0], told[1]) >= -1 and told[2] > 0,
            "(producer id, epoch, timeout)",
            "an id, an epoch, > 0",
            told,
        )
        expect_that(
            found.transaction_start_time_ms >= -1,
            "start time",
            ">= -1",
            found.transaction_start_time_ms,
        )
        once_each((topic.topic for topic in found.topics), f"topics of {name}")
        for topic in found.topics:
            once_each(topic.partitions, f"partitions of {topic.topic}")
        expect_that(
            state in BEGUN or not found.topics,
            f"topics of a transaction that is {state}",
            "none",
            [topic.topic for topic in found.topics],
        )


def listed(version: int, asked: Struct, answer: Struct) -> None:
    """Require each transaction once, and only transactions that match the filters."""
    once_each((found.transactional_id for found in answer.transaction_states), "transactional ids")
    unknown = list(answer.unknown_state_filters)
    expect_that(
        set(unknown) <= set(asked.state_filters),
        "unknown state filters",
        f"some of {asked.state_filters}",
        unknown,
    )
    states = set(asked.state_filters) or STATES
    producers = set(asked.producer_id_filters)
    for found in answer.transaction_states:
        name = found.transactional_id
        expect_that(
            found.transaction_state in states,
            f"state of {name}",
            f"one of {sorted(states)}",
            found.transaction_state,
        )
        expect_that(
            found.producer_id in producers or (not producers and found.producer_id >= -1),
            f"producer id of {name}",
            sorted(producers) or ">= -1",
            found.producer_id,
        )
