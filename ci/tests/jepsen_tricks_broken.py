"""Tricky histories of Jepsen's in which one thing is amiss, and what is to be said of it."""

from __future__ import annotations

from ci.tests.jepsen_histories import (
    FOUR,
    NOTHING,
    THREE,
    TWO,
    WHOLE,
    Event,
    assign,
    at,
    begin,
    end,
    fail,
    info,
    nemesis,
    ok,
    poll,
    send,
    subscribe,
    txn,
)

Kinds = set[tuple[str, str]]
"""Checkers, and the kinds of what each finds."""

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
        [*TWO, *ok(9, poll(1, (0, 100)))],
        {("unseen_writes", "unseen-write")},
    ),
    "a key is never read": (
        [*ok(0, send(1, 100, 0), send(2, 200, 0)), *ok(9, poll(1, (0, 100)))],
        {("unseen_writes", "unseen-write")},
    ),
    "a marked final read stops before the end": (
        [
            *TWO,
            *assign(9, 1, final=True),
            *ok(9, poll(1, (0, 100)), final=True),
            *ok(0, send(1, 102, 2)),
        ],
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
        [
            *info(0, send(1, 100)),
            *info(1, send(1, 101)),
            *ok(9, poll(1, (0, 100))),
            *info(8, poll(1, (0, 101))),
        ],
        {("inconsistent_offsets", "inconsistent-offset")},
    ),
    "two records are acknowledged at one offset, one is read there": (
        [
            *ok(0, send(1, 100, 3)),
            *ok(1, send(1, 101, 3)),
            *ok(9, poll(1, (3, 100))),
            *ok(8, poll(1, (3, 101))),
        ],
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
        [
            *begin(0, send(1, 100), NOTHING, f="txn"),
            *ok(9, poll(1, (0, 100))),
            *ok(1, send(2, 200, 0)),
            *end(0, "ok", send(1, 100, 0), poll(2, (0, 200)), f="txn"),
        ],
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
        [
            *ok(0, send(1, 100, 0), send(2, 200, 0)),
            *ok(9, poll(1, (0, 100), (5, 200), k2=[(0, 200)])),
        ],
        {("phantom_records", "wrong-partition")},
    ),
    # --- order ---
    "a poll skips within a failed operation": (
        [*THREE, *WHOLE, *fail(8, poll(1, (0, 100), (2, 102)))],
        {("poll_skips", "poll-skip")},
    ),
    "a poll skips between two polls of one transaction": (
        [*THREE, *WHOLE, *txn(8, "ok", poll(1, (0, 100)), poll(1, (2, 102)))],
        {("poll_skips", "poll-skip")},
    ),
    "a poll skips behind a failed one that was not rewound": (
        [
            *THREE,
            *WHOLE,
            *ok(8, poll(1, (0, 100))),
            *fail(8, poll(1, (1, 101))),
            *ok(8, poll(1, (2, 102))),
        ],
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
        [
            *assign(9, 1),
            *TWO,
            *ok(9, poll(1, (0, 100), (1, 101))),
            *assign(9, 2, 1),
            *ok(9, poll(1, (1, 101))),
        ],
        {("poll_order", "poll-repeats")},
    ),
    "the rebalance log names another key": (
        [
            *subscribe(9, 1, 2),
            *TWO,
            *ok(9, poll(1, (0, 100), (1, 101), (0, 100)), rebalance_log=[{"keys": [2]}]),
        ],
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
        [
            *txn(0, "ok", send(1, 100, 1), send(2, 200, 0), send(1, 101, 0)),
            *ok(9, poll(1, (0, 101), (1, 100), k2=[(0, 200)])),
        ],
        {("producer_order", "sends-reordered")},
    ),
    # --- transactions ---
    "a torn transaction of unknown outcome, with offsets": (
        [
            *txn(0, "info", send(1, 100, 0), send(2, 200, 0)),
            *ok(1, send(2, 201, 2)),
            *ok(9, poll(1, (0, 100), k2=[(2, 201)])),
        ],
        {("lost_writes", "lost-write"), ("torn_transactions", "torn-transaction")},
    ),
    "a torn transaction of unknown outcome, seen to be passed over": (
        [
            *ok(1, send(2, 199, 0)),
            *txn(0, "info", send(1, 100, 0), send(2, 200, 1)),
            *ok(1, send(2, 201, 3)),
            *ok(9, poll(1, (0, 100), k2=[(0, 199), (3, 201)])),
        ],
        {
            ("torn_transactions", "torn-transaction"),
            ("lost_writes", "lost-write"),
            ("poll_skips", "poll-skip"),
        },
    ),
    "a torn transaction whose invocation nobody answered": (
        [
            *begin(0, send(1, 100), send(2, 200), f="txn"),
            *end(0, "info", f="txn"),
            *ok(1, send(2, 201, 2)),
            *ok(9, poll(1, (0, 100), k2=[(2, 201)])),
        ],
        {("torn_transactions", "torn-transaction")},
    ),
    "two transactions read each other": (
        [
            *begin(0, send(1, 100), NOTHING, f="txn"),
            *begin(1, send(2, 200), NOTHING, f="txn"),
            *end(0, "ok", send(1, 100, 0), poll(2, (0, 200)), f="txn"),
            *end(1, "ok", send(2, 200, 0), poll(1, (0, 100)), f="txn"),
        ],
        {("write_cycles", "read-cycle")},
    ),
    "transactions read each other in a ring of three": (
        [
            *begin(0, send(1, 100), NOTHING, f="txn"),
            *begin(1, send(2, 200), NOTHING, f="txn"),
            *begin(2, send(3, 300), NOTHING, f="txn"),
            *end(0, "ok", send(1, 100, 0), poll(3, (0, 300)), f="txn"),
            *end(1, "ok", send(2, 200, 0), poll(1, (0, 100)), f="txn"),
            *end(2, "ok", send(3, 300, 0), poll(2, (0, 200)), f="txn"),
        ],
        {("write_cycles", "read-cycle")},
    ),
    "two members commit one input": (
        [
            *subscribe(9, 1),
            *subscribe(8, 1),
            *ok(0, send(1, 100, 0)),
            *txn(9, "ok", poll(1, (0, 100)), send(2, 200, 0)),
            *txn(8, "ok", poll(1, (0, 100)), send(2, 201, 2)),
            *assign(7, 2),
            *ok(7, poll(2, (0, 200), (2, 201))),
        ],
        {("exactly_once", "consumed-twice")},
    ),
    "one member commits one input twice, the first time by a commit that a reader decides": (
        [
            *subscribe(9, 1),
            *ok(0, send(1, 100, 0)),
            *txn(9, "info", poll(1, (0, 100)), send(2, 200, 0)),
            *subscribe(8, 1),
            *txn(8, "ok", poll(1, (0, 100)), send(2, 201, 2)),
            *assign(7, 2),
            *ok(7, poll(2, (0, 200), (2, 201))),
        ],
        {("exactly_once", "consumed-twice")},
    ),
    # --- groups and time ---
    "a group passes over a record, and a final read hides it": (
        [
            *subscribe(9, 1),
            *subscribe(8, 1),
            *THREE,
            *ok(9, poll(1, (0, 100))),
            *ok(8, poll(1, (2, 102))),
            *assign(7, 1),
            *ok(7, poll(1, (0, 100), (1, 101), (2, 102))),
        ],
        {("group_delivery", "group-skip")},
    ),
    "a group passes over a record, and a member's own final read hides it": (
        [
            *subscribe(9, 1),
            *subscribe(8, 1),
            *THREE,
            *ok(9, poll(1, (0, 100))),
            *ok(8, poll(1, (2, 102))),
            *begin(8, NOTHING),
            *assign(9, 1),
            *ok(9, poll(1, (0, 100), (1, 101), (2, 102))),
        ],
        {("group_delivery", "group-skip")},
    ),
    "a reader is given nothing for an hour, then all": (
        [
            *assign(9, 1),
            *TWO,
            *at(10),
            *ok(9, NOTHING),
            *at(3600),
            *ok(9, NOTHING),
            *ok(9, poll(1, (0, 100), (1, 101))),
        ],
        {("stale_reads", "stale-read")},
    ),
    "a reader is given nothing for minutes after all faults have ended": (
        [
            *assign(9, 1),
            *TWO,
            *nemesis("kill"),
            *nemesis("start-partition"),
            *at(5),
            *nemesis("stop-partition"),
            *nemesis("start"),
            *ok(0, send(1, 102, 2)),
            *at(10),
            *ok(9, NOTHING),
            *at(100),
            *ok(9, NOTHING),
            *ok(9, poll(1, (0, 100), (1, 101), (2, 102))),
        ],
        {("stale_reads", "stale-read")},
    ),
    "a reader is given one key for minutes, and nothing of the other": (
        [
            *assign(9, 1, 2),
            *ok(0, send(1, 100, 0), send(2, 200, 0)),
            *ok(9, poll(1, (0, 100))),
            *at(20),
            *ok(0, send(1, 101, 1)),
            *ok(9, poll(1, (1, 101))),
            *at(300),
            *ok(0, send(1, 102, 2)),
            *ok(9, poll(1, (2, 102))),
            *ok(9, poll(2, (0, 200))),
        ],
        {("stale_reads", "stale-read")},
    ),
}
