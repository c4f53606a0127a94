"""Tricky histories of Jepsen's in which nothing is amiss."""

from __future__ import annotations

from ci.tests.jepsen_histories import (
    NOTHING,
    REBALANCED,
    THREE,
    TWO,
    WHOLE,
    Event,
    assign,
    at,
    begin,
    crash,
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
    "a member is given a key that only shares a topic with what it subscribed to, by a crash": [
        *subscribe(9, 2), *subscribe(8, 2), *THREE, *ok(9, poll(1, (0, 100))),
        *info(9, NOTHING), *ok(8, poll(1, (2, 102))),
        *assign(7, 1), *ok(7, poll(1, (0, 100), (1, 101), (2, 102))),
    ],
    "a member's transaction crashes when it has told what the first of its polls was given": [
        *subscribe(9, 1), *subscribe(8, 1), *THREE, *ok(8, poll(1, (0, 100))),
        *begin(9, NOTHING, NOTHING), *end(9, "info", poll(1, (0, 100)), ["poll"], f="poll"),
        *ok(8, poll(1, (2, 102))), *assign(7, 1), *ok(7, poll(1, (0, 100), (1, 101), (2, 102))),
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
    "a key with the name that we give to numbers": [
        *ok(0, send("jepsen", 100, 0)), *ok(0, send("jepsen'", 100, 0)), *ok(0, send(0, 100, 0)),
        *ok(9, poll("jepsen", (0, 100)), poll("jepsen'", (0, 100)), poll(0, (0, 100))),
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
