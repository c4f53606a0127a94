"""Histories that try to fool the judges: correct ones with odd shapes, broken ones that hide it.

What each is, follows from the format's text and from `docs/guarantees.md`; the reason is its name.
They are judged together, each as a topic of its own, for that takes a fraction of the time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ci.tests.jepsen_histories import (
    NOTHING,
    Event,
    assign,
    at,
    begin,
    crash,
    end,
    fail,
    info,
    lines,
    nemesis,
    ok,
    poll,
    send,
    subscribe,
    txn,
)
from linearizability.history import HistoryError
from linearizability.importers import jepsen
from linearizability.judging import check_frame
from linearizability.self_test.model import joined
from linearizability.verdict import Validity

TWO = [*ok(0, send(1, 100, 0)), *ok(0, send(1, 101, 1))]
THREE = [*TWO, *ok(0, send(1, 102, 2))]
FOUR = [*THREE, *ok(0, send(1, 103, 3))]
WHOLE = ok(9, poll(1, (0, 100), (1, 101), (2, 102)))
REBALANCED: dict[str, Any] = {"rebalance_log": [{"keys": [1]}]}

VALID: dict[str, list[Event]] = {
    # --- unknown outcomes ---
    "an unknown send comes in after a later one": [
        *info(0, send(1, 100)), *ok(1, send(1, 101, 0)), *ok(9, poll(1, (0, 101), (1, 100))),
    ],
    "an unknown send comes in behind the same process's next": [
        *info(0, send(1, 100)), *ok(0, send(1, 101, 0)), *ok(9, poll(1, (0, 101), (1, 100))),
    ],
    "an unknown send never comes in": [*info(0, send(1, 100)), *ok(1, send(1, 101, 0)),
                                       *ok(9, poll(1, (0, 101)))],
    "nobody answers a send, and it is read": [
        *begin(0, send(1, 100)), *ok(9, poll(1, (0, 100))),
    ],
    "nobody answers a send, and it is not read": [
        *begin(0, send(1, 100)), *ok(1, send(1, 101, 0)), *ok(9, poll(1, (0, 101))),
    ],
    "an unknown commit is decided by a reader": [
        *txn(0, "info", send(1, 100, 0), send(2, 200, 0)),
        *ok(9, poll(1, (0, 100), k2=[(0, 200)])),
    ],
    "an unknown commit is decided in one partition, of the other one nobody reads": [
        *txn(0, "info", send(1, 100, 0), send(2, 200, 0)), *ok(9, poll(1, (0, 100))),
    ],
    "an unknown commit shows in one partition only, for the other's reader came too early": [
        *ok(1, send(2, 199, 0)), *begin(0, send(1, 100), send(2, 200), f="txn"),
        *ok(9, poll(2, (0, 199))), *end(0, "info", f="txn"), *ok(9, poll(1, (0, 100))),
    ],
    "an unknown commit, and nobody was given anything of it": [
        *txn(0, "info", send(1, 100, 0)), *ok(1, send(1, 101, 2)), *ok(9, poll(1, (2, 101))),
    ],
    "a commit that is under way is read already": [
        *begin(0, send(1, 100), send(1, 101), f="txn"), *ok(9, poll(1, (0, 100), (1, 101))),
        *end(0, "ok", send(1, 100, 0), send(1, 101, 1), f="txn"),
    ],
    "a commit that is never answered is read, half by half": [
        *begin(0, send(1, 100), send(2, 200), f="txn"), *ok(9, poll(1, (0, 100))),
        *ok(9, poll(2, (0, 200))),
    ],
    "an unknown poll moves positions nobody knows whither": [
        *THREE, *WHOLE, *ok(8, poll(1, (0, 100))), *info(8, NOTHING), *ok(8, poll(1, (2, 102))),
    ],
    "an unknown poll tells nothing, and the next begins again": [
        *TWO, *ok(9, poll(1, (0, 100), (1, 101))),
        *begin(9, NOTHING), *end(9, "info", f="poll"), *ok(9, poll(1, (0, 100))),
    ],
    # --- aborts ---
    "aborted records and markers are gaps": [
        *txn(0, "ok", send(1, 100, 0)), *txn(0, "fail", send(1, 101, 2), send(1, 102, 3)),
        *txn(0, "ok", send(1, 103, 5)), *ok(9, poll(1, (0, 100), (5, 103))),
    ],
    "a failure follows an unknown end of the same process": [
        *txn(0, "info", send(1, 100)), *txn(0, "fail", send(1, 101)),
        *txn(0, "ok", send(1, 102, 4)), *ok(9, poll(1, (0, 100), (4, 102))),
    ],
    "a failed send is nowhere": [
        *fail(0, send(1, 100)), *ok(0, send(1, 101, 0)), *ok(9, poll(1, (0, 101))),
    ],
    "a failed transaction reads, and its reader begins again where it was": [
        *TWO, *ok(9, poll(1, (0, 100))),
        *txn(9, "fail", poll(1, (1, 101)), send(2, 200)), *ok(9, poll(1, (1, 101))),
    ],
    "a failed transaction is asked for again, as a new one": [
        *txn(0, "fail", send(1, 100, 0)), *txn(0, "ok", send(1, 101, 2)),
        *ok(9, poll(1, (2, 101))),
    ],
    # --- transactions ---
    "several sends and polls in one transaction": [
        *THREE, *txn(9, "ok", poll(1, (0, 100), (1, 101)), send(2, 200, 0), poll(1, (2, 102)),
                     send(2, 201, 1), NOTHING),
        *ok(8, poll(2, (0, 200), (1, 201))),
    ],
    "transactions write between each other's records": [
        *begin(0, send(1, 100), send(1, 102), f="txn"),
        *begin(1, send(1, 101), send(1, 103), f="txn"),
        *end(0, "ok", send(1, 100, 0), send(1, 102, 2), f="txn"),
        *end(1, "ok", send(1, 101, 1), send(1, 103, 3), f="txn"),
        *ok(9, poll(1, (0, 100), (1, 101), (2, 102), (3, 103))),
    ],
    "two transactions write before each other": [
        *begin(0, send(1, 100), send(2, 201), f="txn"), *begin(1, send(1, 101), send(2, 200),
                                                               f="txn"),
        *end(0, "ok", send(1, 100, 0), send(2, 201, 1), f="txn"),
        *end(1, "ok", send(1, 101, 1), send(2, 200, 0), f="txn"),
        *ok(9, poll(1, (0, 100), (1, 101), k2=[(0, 200), (1, 201)])),
    ],
    "each reads what the other has just committed, one after the other": [
        *txn(0, "ok", send(1, 100, 0)), *txn(1, "ok", poll(1, (0, 100)), send(2, 200, 0)),
        *txn(0, "ok", poll(2, (0, 200)), send(1, 101, 2)), *ok(9, poll(1, (0, 100), (2, 101))),
    ],
    "a value stands under two keys": [
        *ok(0, send(1, 100, 0), send(2, 100, 0)), *ok(9, poll(1, (0, 100), k2=[(0, 100)])),
    ],
    # --- positions ---
    "an assignment of the same key keeps the position": [
        *assign(9, 1), *TWO, *ok(9, poll(1, (0, 100))), *assign(9, 1, 2),
        *ok(9, poll(1, (1, 101))),
    ],
    "nothing is assigned, then all again": [
        *assign(9, 1), *TWO, *ok(9, poll(1, (0, 100), (1, 101))), *assign(9), *assign(9, 1),
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "a reader is sent to the beginning": [
        *assign(9, 1), *TWO, *ok(9, poll(1, (0, 100), (1, 101))),
        *assign(9, 1, **{"seek_to_beginning?": True}), *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "only the invocation says that a reader is sent to the beginning": [
        *assign(9, 1), *TWO, *ok(9, poll(1, (0, 100), (1, 101))),
        assign(9, 1, **{"seek_to_beginning?": True})[0], assign(9, 1)[1],
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "a group rebalances within an operation": [
        *subscribe(9, 1), *THREE, *ok(9, poll(1, (0, 100), (1, 101), (0, 100), (2, 102)),
                                      **REBALANCED),
    ],
    "a group rebalances between operations": [
        *subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(9, poll(1, (0, 100), (1, 101))),
        *ok(8, poll(1, (1, 101), (2, 102))), *ok(9, poll(1, (0, 100))),
    ],
    "a rebalance log names its keys as texts, or none": [
        *subscribe(9, 1), *TWO,
        *ok(9, poll(1, (0, 100), (0, 100), (1, 101)),
            rebalance_log=[{"keys": ["1"]}, {"keys": []}, {}]),
    ],
    "a member subscribes anew": [
        *subscribe(9, 1), *TWO, *ok(9, poll(1, (0, 100))), *subscribe(9, 1, 2),
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "a process crashes and is used again": [
        *assign(9, 1), *TWO, *ok(9, poll(1, (0, 100), (1, 101))), *crash(9), *assign(9, 1),
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "a member's crash gives its part to another": [
        *subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(9, poll(1, (0, 100))),
        *begin(9, NOTHING), *end(9, "info", f="poll"), *ok(8, poll(1, (2, 102))),
        *assign(7, 1), *ok(7, poll(1, (0, 100), (1, 101), (2, 102))),
    ],
    "a member reads what another one's failed transaction had read": [
        *subscribe(9, 1), *subscribe(8, 1), *TWO, *txn(9, "fail", poll(1, (0, 100)), send(2, 200)),
        *txn(8, "ok", poll(1, (0, 100), (1, 101)), send(2, 201, 2)), *assign(7, 2),
        *ok(7, poll(2, (2, 201))),
    ],
    "an assigned process of the group takes the others back": [
        *subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(9, poll(1, (0, 100))), *assign(9, 1),
        *ok(9, poll(1, (0, 100), (1, 101))), *ok(8, poll(1, (2, 102))),
    ],
    "members share the keys": [
        *subscribe(9, 1, 2), *subscribe(8, 1, 2), *TWO, *ok(0, send(2, 200, 0)),
        *txn(9, "ok", poll(1, (0, 100), (1, 101)), send(3, 300, 0)),
        *txn(8, "ok", poll(2, (0, 200)), send(3, 301, 2)), *assign(7, 3),
        *ok(7, poll(3, (0, 300), (2, 301))),
    ],
    # --- readers ---
    "one reader sees a prefix, another one the whole": [
        *THREE, *ok(8, poll(1, (0, 100))), *WHOLE,
    ],
    "polls give nothing": [
        *ok(9, NOTHING), *ok(9, poll(1)), *TWO, *ok(9, poll(1, (0, 100))), *ok(9, NOTHING),
        *ok(9, poll(1, (1, 101))), *begin(9, NOTHING),
    ],
    "a poll is under way when all ends": [
        *TWO, *ok(9, poll(1, (0, 100), (1, 101))), *begin(9, NOTHING),
    ],
    "polls overlap sends": [
        *begin(9, NOTHING), *begin(0, send(1, 100)), *begin(1, send(1, 101)),
        *end(9, "ok", poll(1, (0, 101), (1, 100))), *end(0, "ok", send(1, 100, 1)),
        *end(1, "ok", send(1, 101, 0)),
    ],
    "a final read that is marked counts from its beginning": [
        *TWO, *begin(0, send(1, 102)), *assign(9, 1, final=True),
        *ok(9, poll(1, (0, 100), (1, 101)), final=True), *end(0, "ok", send(1, 102, 2)),
        *ok(0, send(1, 103, 3)),
    ],
    "only completions say that a read is the final one": [
        *TWO, *begin(9, NOTHING), *begin(0, send(1, 102)),
        *end(9, "ok", poll(1, (0, 100), (1, 101)), final=True), *end(0, "ok", send(1, 102, 2)),
    ],
    "a slow reader comes back after an hour, when it is given all": [
        *assign(9, 1), *TWO, *at(3600), *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "an aborted transaction's gap keeps nobody waiting": [
        *assign(9, 1), *ok(0, send(1, 100, 0)), *txn(0, "fail", send(1, 101, 2)),
        *ok(9, poll(1, (0, 100))), *at(100), *ok(9, NOTHING), *at(200), *ok(9, NOTHING),
    ],
    "a partition of the network keeps a reader waiting": [
        *assign(9, 1), *TWO, *at(5), *nemesis("start-partition"), *at(10), *ok(9, NOTHING),
        *at(100), *ok(9, NOTHING), *at(200), *ok(9, NOTHING), *nemesis("stop-partition"),
        *at(210), *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "one of two faults still keeps a reader waiting": [
        *assign(9, 1), *TWO, *at(5), *nemesis("kill"), *nemesis("pause"), *nemesis("resume"),
        *at(10), *ok(9, NOTHING), *at(100), *ok(9, NOTHING), *nemesis("start"),
        *at(110), *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    "an open transaction keeps readers waiting": [
        *assign(9, 1), *begin(0, send(1, 100), f="txn"), *ok(1, send(1, 101, 1)), *ok(9, NOTHING),
        *at(100), *ok(9, NOTHING), *at(200), *end(0, "ok", send(1, 100, 0), f="txn"),
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
    # --- numbers and names ---
    "all at one time": [
        event | {"time": 7} for event in [*THREE, *ok(1, send(1, 99, 3)), *ok(
            9, poll(1, (0, 100), (1, 101), (2, 102), (3, 99)))]
    ],
    "keys with names": [
        *ok(0, send("orders", 100, 0), send("t-0", 100, 0)), *assign(9, "orders", "t-0"),
        *ok(9, poll("orders", (0, 100)), poll("t-0", (0, 100))),
    ],
    "keys that are texts of digits, other than numbers": [
        *ok(0, send("007", 100, 0)), *ok(0, send(7, 100, 0)),
        *ok(9, poll("007", (0, 100)), poll(7, (0, 100))),
    ],
    "keys that are large numbers": [
        *ok(0, send(2**40, 100, 0)), *assign(9, 2**40), *ok(9, poll(2**40, (0, 100))),
    ],
    "large offsets, and values below zero": [
        *ok(0, send(1, -5, 2**53 + 1)), *ok(0, send(1, -(2**62), 2**53 + 3)),
        *ok(9, poll(1, (2**53 + 1, -5), (2**53 + 3, -(2**62)))),
    ],
    "an acknowledged offset is not told": [
        *ok(0, send(1, 100)), *ok(0, send(1, 101)), *ok(9, poll(1, (3, 100), (4, 101))),
    ],
    "others' operations, and the nemesis, mean nothing": [
        *TWO, {"process": "nemesis", "type": "info", "f": "kill", "value": "n1"},
        {"process": 7, "type": "invoke", "f": "debug-topic-partitions", "value": [1]},
        {"process": 7, "type": "ok", "f": "debug-topic-partitions", "value": {"1": None}},
        *ok(9, poll(1, (0, 100), (1, 101))),
    ],
}  # fmt: skip

Kinds = set[tuple[str, str]]

BROKEN: dict[str, tuple[list[Event], Kinds]] = {
    # --- what is lost ---
    "a record is lost in the middle, all others are read by two": (
        [*FOUR, *ok(9, poll(1, (0, 100), (1, 101))), *ok(8, poll(1, (3, 103)))],
        {("lost_writes", "lost-write"), ("unseen_writes", "unseen-write")},
    ),
    "a committed record is passed over, though its offset is not told": (
        [*txn(0, "ok", send(1, 100), send(1, 101, 1)), *ok(9, poll(1, (1, 101)))],
        {("unseen_writes", "unseen-write")},
    ),
    "a tail is never read": (
        [*TWO, *ok(9, poll(1, (0, 100)))], {("unseen_writes", "unseen-write")},
    ),
    "a key is never read": (
        [*ok(0, send(1, 100, 0), send(2, 200, 0)), *ok(9, poll(1, (0, 100)))],
        {("unseen_writes", "unseen-write")},
    ),
    "a marked final read stops before the end": (
        [*TWO, *assign(9, 1, final=True), *ok(9, poll(1, (0, 100)), final=True),
         *ok(0, send(1, 102, 2))],
        {("unseen_writes", "unseen-write")},
    ),
    "only an unknown poll was given the record": (
        [*TWO, *ok(9, poll(1, (0, 100))), *info(9, poll(1, (1, 101)))],
        {("unseen_writes", "unseen-write")},
    ),
    # --- what is there twice, or two there ---
    "a record is acknowledged at one offset and read at another": (
        [*ok(0, send(1, 100, 0)), *ok(1, send(1, 101, 1)), *ok(9, poll(1, (1, 101), (2, 100)))],
        {("duplicates", "duplicate")},
    ),
    "a record of unknown outcome is there twice": (
        [*info(0, send(1, 100)), *ok(9, poll(1, (0, 100))), *ok(8, poll(1, (0, 100), (3, 100)))],
        {("duplicates", "duplicate")},
    ),
    "an unknown poll shows another record at an offset": (
        [*info(0, send(1, 100)), *info(1, send(1, 101)), *ok(9, poll(1, (0, 100))),
         *info(8, poll(1, (0, 101)))],
        {("inconsistent_offsets", "inconsistent-offset")},
    ),
    "two records are acknowledged at one offset, one is read there": (
        [*ok(0, send(1, 100, 3)), *ok(1, send(1, 101, 3)), *ok(9, poll(1, (3, 100))),
         *ok(8, poll(1, (3, 101)))],
        {("inconsistent_offsets", "inconsistent-offset"), ("append_order", "same-offset")},
    ),
    "an aborted record's offset is used by a committed one": (
        [*txn(0, "fail", send(1, 100, 0)), *ok(1, send(1, 101, 0)), *ok(9, poll(1, (0, 101)))],
        {("inconsistent_offsets", "inconsistent-offset"), ("append_order", "same-offset")},
    ),
    # --- what must not be read ---
    "an aborted record is read": (
        [*txn(0, "fail", send(1, 100), send(1, 101, 1)), *ok(9, poll(1, (1, 101)))],
        {("aborted_reads", "aborted-read")},
    ),
    "an aborted record is read by an unknown poll": (
        [*txn(0, "fail", send(1, 100, 0)), *info(9, poll(1, (0, 100)))],
        {("aborted_reads", "aborted-read")},
    ),
    "an aborted record is read inside a transaction that fails": (
        [*txn(0, "fail", send(1, 100, 0)), *txn(9, "fail", poll(1, (0, 100)), send(2, 200))],
        {("aborted_reads", "aborted-read")},
    ),
    "a failed transaction is told nothing of, and its record is read": (
        [*begin(0, send(1, 100), f="txn"), *end(0, "fail", f="txn"), *ok(9, poll(1, (0, 100)))],
        {("aborted_reads", "aborted-read")},
    ),
    "a transaction of unknown end reads its own": (
        [*txn(0, "info", send(1, 100), poll(1, (0, 100)))],
        {("own_uncommitted_reads", "own-uncommitted-read")},
    ),
    "a failed transaction reads its own": (
        [*txn(0, "fail", send(1, 100), poll(1, (0, 100)))],
        {("own_uncommitted_reads", "own-uncommitted-read"), ("aborted_reads", "aborted-read")},
    ),
    "a record is read before its transaction reads what it waits for": (
        [*begin(0, send(1, 100), NOTHING, f="txn"), *ok(9, poll(1, (0, 100))),
         *ok(1, send(2, 200, 0)),
         *end(0, "ok", send(1, 100, 0), poll(2, (0, 200)), f="txn")],
        {("dirty_reads", "dirty-read")},
    ),
    "a record is read before it is sent": (
        [*ok(9, poll(1, (0, 100))), *ok(0, send(1, 100, 0))],
        {("append_order", "read-before-append"), ("dirty_reads", "dirty-read")},
    ),
    "a record comes from nowhere, in a failed poll": (
        [*TWO, *ok(9, poll(1, (0, 100), (1, 101))), *fail(8, poll(1, (7, 777)))],
        {("phantom_records", "phantom-record")},
    ),
    "a record of another key": (
        [*ok(0, send(1, 100, 0), send(2, 200, 0)),
         *ok(9, poll(1, (0, 100), (5, 200), k2=[(0, 200)]))],
        {("phantom_records", "wrong-partition")},
    ),
    # --- order ---
    "a poll skips within a failed operation": (
        [*THREE, *WHOLE, *fail(8, poll(1, (0, 100), (2, 102)))], {("poll_skips", "poll-skip")},
    ),
    "a poll skips between two polls of one transaction": (
        [*THREE, *WHOLE, *txn(8, "ok", poll(1, (0, 100)), poll(1, (2, 102)))],
        {("poll_skips", "poll-skip")},
    ),
    "a poll skips behind a failed one that was not rewound": (
        [*THREE, *WHOLE, *ok(8, poll(1, (0, 100))), *fail(8, poll(1, (1, 101))),
         *ok(8, poll(1, (2, 102)))],
        {("poll_skips", "poll-skip")},
    ),
    "a failed poll goes back behind what was read before": (
        [*THREE, *WHOLE, *ok(8, poll(1, (0, 100), (1, 101))), *fail(8, poll(1, (0, 100)))],
        {("poll_order", "poll-goes-back")},
    ),
    "a failed poll skips what comes next": (
        [*THREE, *WHOLE, *ok(8, poll(1, (0, 100))), *fail(8, poll(1, (2, 102)))],
        {("poll_skips", "poll-skip")},
    ),
    "an assignment that keeps the key does not excuse a repetition": (
        [*assign(9, 1), *TWO, *ok(9, poll(1, (0, 100), (1, 101))), *assign(9, 2, 1),
         *ok(9, poll(1, (1, 101)))],
        {("poll_order", "poll-repeats")},
    ),
    "the rebalance log names another key": (
        [*subscribe(9, 1, 2), *TWO, *ok(9, poll(1, (0, 100), (1, 101), (0, 100)),
                                        rebalance_log=[{"keys": [2]}])],
        {("poll_order", "poll-goes-back")},
    ),
    "a send of another process stands before one that was acknowledged": (
        [*ok(0, send(1, 100, 5)), *ok(1, send(1, 101, 3)), *ok(9, poll(1, (3, 101), (5, 100)))],
        {("append_order", "append-order")},
    ),
    "a record without an offset is read before one that was acknowledged earlier": (
        [*ok(0, send(1, 100, 5)), *ok(1, send(1, 101)), *ok(9, poll(1, (3, 101), (5, 100)))],
        {("append_order", "append-order")},
    ),
    "two sends of one transaction change places": (
        [*txn(0, "ok", send(1, 100, 1), send(2, 200, 0), send(1, 101, 0)),
         *ok(9, poll(1, (0, 101), (1, 100), k2=[(0, 200)]))],
        {("producer_order", "sends-reordered")},
    ),
    # --- transactions ---
    "a torn transaction of unknown outcome, with offsets": (
        [*txn(0, "info", send(1, 100, 0), send(2, 200, 0)), *ok(1, send(2, 201, 2)),
         *ok(9, poll(1, (0, 100), k2=[(2, 201)]))],
        {("lost_writes", "lost-write"), ("unseen_writes", "unseen-write")},
    ),
    "a torn transaction of unknown outcome, seen to be passed over": (
        [*ok(1, send(2, 199, 0)), *txn(0, "info", send(1, 100, 0), send(2, 200, 1)),
         *ok(1, send(2, 201, 3)), *ok(9, poll(1, (0, 100), k2=[(0, 199), (3, 201)]))],
        {("torn_transactions", "torn-transaction"), ("lost_writes", "lost-write"),
         ("poll_skips", "poll-skip"), ("unseen_writes", "unseen-write")},
    ),
    "a torn transaction whose invocation nobody answered": (
        [*begin(0, send(1, 100), send(2, 200), f="txn"), *end(0, "info", f="txn"),
         *ok(1, send(2, 201, 2)), *ok(9, poll(1, (0, 100), k2=[(2, 201)]))],
        {("unseen_writes", "unseen-write")},
    ),
    "two transactions read each other": (
        [*begin(0, send(1, 100), NOTHING, f="txn"), *begin(1, send(2, 200), NOTHING, f="txn"),
         *end(0, "ok", send(1, 100, 0), poll(2, (0, 200)), f="txn"),
         *end(1, "ok", send(2, 200, 0), poll(1, (0, 100)), f="txn")],
        {("write_cycles", "read-cycle")},
    ),
    "transactions read each other in a ring of three": (
        [*begin(0, send(1, 100), NOTHING, f="txn"), *begin(1, send(2, 200), NOTHING, f="txn"),
         *begin(2, send(3, 300), NOTHING, f="txn"),
         *end(0, "ok", send(1, 100, 0), poll(3, (0, 300)), f="txn"),
         *end(1, "ok", send(2, 200, 0), poll(1, (0, 100)), f="txn"),
         *end(2, "ok", send(3, 300, 0), poll(2, (0, 200)), f="txn")],
        {("write_cycles", "read-cycle")},
    ),
    "two members commit one input": (
        [*subscribe(9, 1), *subscribe(8, 1), *ok(0, send(1, 100, 0)),
         *txn(9, "ok", poll(1, (0, 100)), send(2, 200, 0)),
         *txn(8, "ok", poll(1, (0, 100)), send(2, 201, 2)), *assign(7, 2),
         *ok(7, poll(2, (0, 200), (2, 201)))],
        {("exactly_once", "consumed-twice")},
    ),
    "one member commits one input twice, the first time by a commit that a reader decides": (
        [*subscribe(9, 1), *ok(0, send(1, 100, 0)),
         *txn(9, "info", poll(1, (0, 100)), send(2, 200, 0)), *subscribe(8, 1),
         *txn(8, "ok", poll(1, (0, 100)), send(2, 201, 2)), *assign(7, 2),
         *ok(7, poll(2, (0, 200), (2, 201)))],
        {("exactly_once", "consumed-twice")},
    ),
    # --- groups and time ---
    "a group passes over a record, and a final read hides it": (
        [*subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(9, poll(1, (0, 100))),
         *ok(8, poll(1, (2, 102))), *assign(7, 1),
         *ok(7, poll(1, (0, 100), (1, 101), (2, 102)))],
        {("group_delivery", "group-skip")},
    ),
    "a group passes over a record, and a member's own final read hides it": (
        [*subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(9, poll(1, (0, 100))),
         *ok(8, poll(1, (2, 102))), *begin(8, NOTHING), *assign(9, 1),
         *ok(9, poll(1, (0, 100), (1, 101), (2, 102)))],
        {("group_delivery", "group-skip")},
    ),
    "a reader is given nothing for an hour, then all": (
        [*assign(9, 1), *TWO, *at(10), *ok(9, NOTHING), *at(3600), *ok(9, NOTHING),
         *ok(9, poll(1, (0, 100), (1, 101)))],
        {("stale_reads", "stale-read")},
    ),
    "a reader is given nothing for minutes after all faults have ended": (
        [*assign(9, 1), *TWO, *nemesis("kill"), *nemesis("start-partition"), *at(5),
         *nemesis("stop-partition"), *nemesis("start"), *ok(0, send(1, 102, 2)), *at(10),
         *ok(9, NOTHING), *at(100), *ok(9, NOTHING),
         *ok(9, poll(1, (0, 100), (1, 101), (2, 102)))],
        {("stale_reads", "stale-read")},
    ),
    "a reader is given one key for minutes, and nothing of the other": (
        [*assign(9, 1, 2), *ok(0, send(1, 100, 0), send(2, 200, 0)), *ok(9, poll(1, (0, 100))),
         *at(20), *ok(0, send(1, 101, 1)), *ok(9, poll(1, (1, 101))),
         *at(300), *ok(0, send(1, 102, 2)), *ok(9, poll(1, (2, 102))), *ok(9, poll(2, (0, 200)))],
        {("stale_reads", "stale-read")},
    ),
}  # fmt: skip


@cache
def verdicts() -> dict[str, Kinds]:
    """History -> what is said of it."""
    histories = VALID | {name: history for name, (history, _) in BROKEN.items()}
    # What the nemesis did would excuse the others' brokers, too.
    alone = [name for name, h in histories.items() if any(e.get("process") == "nemesis" for e in h)]
    together = [name for name in histories if name not in alone]
    found: dict[str, Kinds] = {}
    for names in (together, *([name] for name in alone)):
        found |= judged({name: histories[name] for name in names})
    return found


def judged(histories: dict[str, list[Event]]) -> dict[str, Kinds]:
    """What is said of histories that are joined to one."""
    found: dict[str, Kinds] = {name: set() for name in histories}
    imported = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "history.jsonl"
        for name, history in histories.items():
            file.write_text(lines(history))
            try:
                imported.append(list(jepsen.read(file).iter_rows(named=True)))
            except HistoryError as error:
                found[name].add(("refused", str(error)))
                imported.append([])
    verdict = check_frame(joined(imported))
    assert not [c.name for c in verdict.checkers.values() if c.validity is Validity.UNKNOWN]
    for checker, anomaly in verdict.anomalies:
        number = int(str(anomaly.scope["topic"]).rpartition("-")[2])
        found[list(histories)[number]].add((checker, anomaly.kind))
    return found


@pytest.mark.parametrize("name", VALID)
def test_a_correct_history_is_not_accused(name: str) -> None:
    assert verdicts()[name] == set()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_accused_of_what_it_does_alone(name: str) -> None:
    assert verdicts()[name] == BROKEN[name][1]
