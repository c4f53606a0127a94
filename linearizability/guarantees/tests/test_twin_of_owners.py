"""`group_delivery`, `exactly_once` and their twins agree where members own partitions, while
another member has a poll of unknown result."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from linearizability.guarantees.tests.test_twins import by_kernel
from linearizability.guarantees.tests.twins import twin_of
from linearizability.history import frame
from linearizability.ingest import resolved
from linearizability.twins.facts import Row, resolve

HISTORIES = 80


def drawn(seed: int) -> list[Row]:
    """Return a history of three processes: they own partitions, receive and commit, or have polls
    of unknown result, all at random."""
    rng = Random(seed)
    rows: list[Row] = [
        {"f": "send", "topic": "t", "partition": p, "value": 10 * p + n, "offset": n, "acks": -1}
        for p in (0, 1)
        for n in range(5)
    ]
    consumer = rng.choice([None, 1, 1, 1])
    rows += [_row(process, "subscribe", rng) for process in (1, 2, 3) if rng.random() < 0.8]
    rows += [_row(3, "assign", rng)] if rng.random() < 0.1 else []
    place, one = {"topic": "t", "partition": 0}, {"generation": 1 if consumer else None}
    rows += [_row(1, "owned", rng) | place | one] if rng.random() < 0.8 else []
    offsets = {0: 0, 1: 0}
    for _ in range(rng.randint(5, 22)):
        process, partition = rng.choice([1, 1, 1, 2]), rng.choice([0, 0, 1])
        place = {"topic": "t", "partition": partition}
        told: dict[str, Any] = {"generation": rng.choice([1, 1, 1, 2, 3]) if consumer else None}
        txn = rng.choice([None, 1, 1, 2])
        match rng.choice(["owned", "owned", "poll", "poll", "poll", "lost", "commit", "commit"]):
            case "owned":
                rows.append(_row(process, "owned", rng) | place | told)
            case "poll":
                offsets[partition] += rng.choice([-1, 0, 1, 1, 2])
                at = min(max(offsets[partition], 0), 4)
                value = 10 * partition + at
                rows.append(_row(process, "poll", rng) | place | {"offset": at, "value": value})
                rows[-1] |= {"txn": txn}
            case "lost":
                rows += [_row(3, "poll", rng) | {"type": "info"}]
                rows += [_row(3, "poll", rng)] if rng.random() < 0.8 else []
            case "commit":
                f = rng.choice(["commit_offsets", "send_offsets"])
                at = min(max(offsets[partition] + 1, 0), 5)
                rows.append(_row(process, f, rng) | place | told | {"offset": at})
                rows[-1] |= {"txn": txn if f == "send_offsets" else None}
    rows += [_row(1, "commit_offsets", rng) | place | one | {"partition": 0, "offset": 0}]
    rows += [{"f": rng.choice(["commit", "abort"]), "txn": txn} for txn in (1, 2)]
    return [row | {"op_id": number} for number, row in enumerate(rows)]


def _row(process: int, f: str, rng: Random) -> Row:
    """Return a row of a member, in one of four sessions of its process."""
    return {
        "f": f,
        "process": process,
        "group": "g",
        "member_id": f"m{process}",
        "session": rng.randint(0, 3),
    }


def test_the_kernels_find_what_their_twins_find_beside_owners() -> None:
    found: Counter[str] = Counter()
    apart = 0
    for seed in range(HISTORIES):
        rows = frame(drawn(seed)).rows(named=True)
        events = resolved(frame(rows).lazy()).sort("op_id", "record_index")
        plain = resolve(rows)
        for name in ("group_delivery", "exactly_once"):
            twins = twin_of(name)(plain)
            assert by_kernel(events, name) == twins, (seed, name)
            found.update(kind for kind, _, _ in twins)
        without = [row for row in rows if row["f"] != "owned"]
        apart += twin_of("group_delivery")(plain) != twin_of("group_delivery")(resolve(without))
    assert found["group-skip"] > 10 and found["consumed-never"]
    assert apart > 3, "owners made no difference"
