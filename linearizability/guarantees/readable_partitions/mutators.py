"""Ways to break `readable_partitions`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import NOT_OURS, SECOND_NS, is_acked, is_compacted, over_ns
from linearizability.self_test.model.world import Row

TRIES, APART_S = 8, 9


def refuse_every_fetch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of all operations, a leader answers every try to read a
    partition with an error."""
    errors = ("FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR")
    return _with_tries(rows, rng, {"type": "fail", "error": rng.choice(errors), "node": 1})


def answer_no_fetch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a leader does not answer any try to read a partition."""
    return _with_tries(rows, rng, {"type": "info", "error": "_NO_ANSWER", "node": 1})


def give_no_records(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a leader answers every fetch without records, though some are there."""
    if is_compacted(rows):
        return None
    return _with_tries(rows, rng, {"type": "fail", "error": "_NO_RECORDS", "node": 1})


def elect_no_leader(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a partition has no leader, though a replica that is in sync lives."""
    return _with_tries(rows, rng, {"type": "fail", "error": "LEADER_NOT_AVAILABLE"})


def _with_tries(rows: list[Row], rng: Random, end: Row) -> list[Row] | None:
    """Return the rows and TRIES tries to read one partition, which end like this. (The model's
    truth: an acknowledged record is in the partition, which its leader must let readers read.)"""
    acked = [row for row in rows if is_acked(row)]
    if not acked:
        return None
    place = rng.choice(acked)
    began_ns = over_ns(rows) + SECOND_NS
    own = {name: place[name] for name in ("topic", "topic_id", "partition")} | {
        "f": F.TRY_READ.value,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "final": True,
        "asked": "answered",
        "asked_offset": rng.choice([None, place["offset"]]),
    }
    return [
        *rows,
        *(
            own
            | end
            | {
                "op_id": NOT_OURS - TRIES + number,
                "t_invoke_ns": began_ns + number * APART_S * SECOND_NS,
                "t_complete_ns": began_ns + (number * APART_S + 1) * SECOND_NS,
            }
            for number in range(TRIES)
        ),
    ]


CLAUSES: Clauses = {
    "a leader does not let readers read a partition to its end": by(
        "unreadable-partition", refuse_every_fetch, answer_no_fetch, give_no_records
    ),
    "a partition has no leader, though a replica that is in sync lives": by(
        "unreadable-partition", elect_no_leader
    ),
}
