"""Ways to break `group_liveness`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    data_rows,
    is_acked,
    log_starts,
    nothing_of,
    over_ns,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row

LONG_NS = 45_000_000_000
"""A time in nanoseconds that is longer than the limit that follows from the model's settings and
the bound."""


def orphan_a_partition(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a second after the first report of a group, the reporting member gives up a
    partition, and no member takes it over: all later reports of the group are dropped."""
    first = _reports(rows)
    if not first:
        return None
    group, owned = rng.choice(sorted(first.items()))
    orphan = rng.choice(owned)["partition"]
    begun = owned[0]["op_id"]
    kept = [
        row
        for row in rows
        if not (row["f"] == F.OWNED and row["group"] == group and row["op_id"] > begun)
    ]
    later = {"op_id": NOT_OURS, "t_invoke_ns": owned[0]["t_invoke_ns"] + 1_000_000_000}
    later["t_complete_ns"] = later["t_invoke_ns"]
    rest = [row | later for row in owned if row["partition"] != orphan]
    nothing = owned[0] | later | {"topic": None, "partition": None}
    return [*kept, *(rest or [nothing])]


def leave_a_member_idle(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in a group whose first report names three partitions or more, another
    member joins and polls whenever the others do, but never gets a partition."""
    first = _reports(rows)
    large = sorted(group for group, owned in first.items() if len(owned) > 2)
    if not large:
        return None
    group = rng.choice(large)
    own = {"process": NOT_OURS, "member_id": "idle"}
    joined = [row | own for row in rows if row.get("group") == group and row["f"] == F.SUBSCRIBE]
    polled = [
        nothing_of(row) | own
        for row in rows
        if row.get("group") == group and row["f"] == F.POLL and row["record_index"] == 0
    ]
    ops = [row | {"op_id": NOT_OURS - n} for n, row in enumerate([*joined, *polled])]
    return [*rows, *ops]


def assign_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: another process reports that it owns a partition in the same generation."""
    first = _reports(rows)
    if not first:
        return None
    owned = rng.choice(rng.choice(sorted(first.items()))[1])
    twin = {"process": NOT_OURS, "op_id": NOT_OURS, "member_id": "twin", "record_index": 0}
    return [*rows, owned | twin]


@where_nothing_is_compacted
def starve_a_group(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: from some record on, a group's polls of a partition receive nothing more,
    although plain records are acknowledged there."""
    starts = log_starts(rows)
    transactional = {
        row["partition"] for row in rows if row["f"] == F.SEND and row["txn"] is not None
    }
    last_ns: dict[str, int] = {}
    for row in rows:
        if row["f"] == F.POLL and row.get("group") is not None:
            last_ns[row["group"]] = max(last_ns.get(row["group"], 0), row["t_invoke_ns"])
    sends = {row["value"]: row for row in rows if is_acked(row)}
    unknown = {
        row["group"]
        for row in rows
        if row["f"] == F.POLL
        and row.get("group")
        and row["type"] != "ok"
        and row.get("offset") is None
    }
    reporting = set(_reports(rows)) - unknown
    records = [row for row in data_rows(rows) if row.get("group") in reporting]
    victims = [
        row
        for row in records
        if row["value"] in sends
        and row["partition"] not in transactional
        and row["offset"] >= starts[row["partition"]]
        and row["offset"] == sends[row["value"]]["offset"]
        and last_ns[row["group"]] - max(row["t_complete_ns"], sends[row["value"]]["t_complete_ns"])
        > LONG_NS
        and not any(
            other["offset"] >= row["offset"] and other["op_id"] < row["op_id"]
            for other in records
            if other["group"] == row["group"] and other["partition"] == row["partition"]
        )
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [
        nothing_of(row)
        if row["f"] == F.POLL
        and row.get("group") == victim["group"]
        and row.get("partition") == victim["partition"]
        and row["op_id"] >= victim["op_id"]
        else row
        for row in rows
    ]


def remove_within_the_session(rows: list[Row], rng: Random) -> list[Row]:
    """Plant an anomaly: a member sends heartbeats within its session, and is removed."""
    renewals = [(rng.uniform(0.5, 0.95), "ok") for _ in range(rng.randint(0, 3))]
    return _with_a_lone_member(rows, [*renewals, (rng.uniform(0.5, 0.95), "fail")])


def keep_long_after_the_session(rows: list[Row], rng: Random) -> list[Row]:
    """Plant an anomaly: a member is silent for many sessions, and is accepted again."""
    return _with_a_lone_member(rows, [(rng.uniform(6.5, 9.0), "ok")])


def hide_a_rebalance(rows: list[Row], rng: Random) -> list[Row]:
    """Plant an anomaly: another member has waited to join for ten seconds or more, and a heartbeat
    is accepted."""
    told = _with_a_lone_member(rows, [(rng.uniform(0.1, 0.9), "ok")])
    waits = {"asked": "joining", "asked_offset": rng.randint(10_000, 20_000)}
    return [*told[:-1], told[-1] | waits]


def keep_after_leaving(rows: list[Row], rng: Random) -> list[Row]:
    """Plant an anomaly: a member has left, and its heartbeat is accepted."""
    return _with_a_lone_member(rows, [(0.5, "leaves"), (rng.uniform(0.1, 0.9), "ok")])


def _with_a_lone_member(rows: list[Row], requests: list[tuple[float, str]]) -> list[Row]:
    """Return the rows, followed by those of a new group's only member. It sends a heartbeat that is
    accepted, then one request for each (pause, answer). A pause counts in session time-outs of two
    seconds. The request is a LeaveGroup if the answer is "leaves", else a heartbeat with that
    outcome."""
    at_ns = over_ns(rows) + 1
    own: Row = {
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "group": "lone",
        "member_id": "lone",
        "settings": '{"session.timeout.ms": "2000"}',
    }
    told = []
    for number, (pause, answer) in enumerate([(0.0, "ok"), *requests]):
        at_ns += round(pause * 2_000_000_000)
        f = F.LEAVE if answer == "leaves" else F.HEARTBEAT
        outcome = "ok" if answer == "leaves" else answer
        times = {"t_invoke_ns": at_ns, "t_complete_ns": at_ns, "op_id": NOT_OURS - number}
        told.append(own | times | {"f": f.value, "type": outcome})
    return [*rows, *told]


def _reports(rows: list[Row]) -> dict[str, list[Row]]:
    """Return group -> the rows of the first report in it of owned partitions."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["f"] == F.OWNED:
            own = found.setdefault(row["group"], [])
            if not own or own[0]["op_id"] == row["op_id"]:
                own.append(row)
    return found


CLAUSES: Clauses = {
    "no live member owns a partition for longer than a rebalance may take": by(
        "partition-without-owner", orphan_a_partition
    ),
    "a live member owns nothing for as long, though partitions outnumber members": by(
        "member-without-part", leave_a_member_idle
    ),
    "a group receives none of the waiting records for as long": by("group-starved", starve_a_group),
    "two members own one partition in one generation": by("assigned-twice", assign_twice),
    "a heartbeat is accepted while another member waits to join": by(
        "not-told-to-rejoin", hide_a_rebalance
    ),
    "a member is removed although it sent a heartbeat within its session time-out": by(
        "session-cut-short", remove_within_the_session
    ),
    "a member is accepted ten seconds after its session ended": by(
        "session-outlived", keep_long_after_the_session
    ),
    "a member is accepted after it has left": by("member-after-leaving", keep_after_leaving),
}
