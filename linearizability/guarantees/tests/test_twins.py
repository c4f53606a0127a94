"""The kernels and their dumb twins find the same anomalies in any small history, however odd."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.checkers.base import Scope
from linearizability.checkers.table import CHECKERS
from linearizability.engine.opinion import anomalies_of
from linearizability.guarantees import GUARANTEES
from linearizability.guarantees.tests.twins import twin_of
from linearizability.history import frame
from linearizability.ingest import DECIDED_BY, resolved
from linearizability.twins.facts import Found, Row, resolve

ELSEWHERE = {
    "append_order": "porcupy/tests",
    "delivery_semantics": "test_twins_of_services",
    "stale_reads": "test_twins_of_services",
    "group_liveness": "test_twin_of_groups",
}
"""Guarantees whose twins need other histories -> where they are compared."""
TWINS = {name: twin_of(name) for name in GUARANTEES if name not in ELSEWHERE}
OUTCOME = st.sampled_from(["ok", "ok", "ok", "info", "fail"])
OFFSET = st.integers(0, 5)
VALUE = st.one_of(st.integers(1, 5), st.none())
ISOLATION = st.sampled_from(["read_committed", "read_uncommitted", None])


KEY = {
    "key": st.sampled_from([None] * 7 + ["j", "k", "k"]),
    "tombstone": st.sampled_from([None, False, False, False, True]),
    "checksum": st.sampled_from([None] * 5 + [1, 1, 1, 2]),
    "timestamp_ms": st.sampled_from([None] * 5 + [0, 0, 0, 5, 300]),
    "timestamp_type": st.sampled_from([None, None, "create", "create", "create", "append"]),
}
EPOCH = {
    "producer_id": st.sampled_from([None, -1, 7, 7, 8]),
    "producer_epoch": st.sampled_from([None, -1, 0, 1]),
}
SETTINGS = [
    None,
    '{"cleanup.policy": "compact"}',
    "{}",
    '{"cleanup.policy": "delete"}',
    '{"retention.ms": "-1"}',
    '{"retention.bytes": "100"}',
    '{"retention.ms": "0"}',
    '{"cleanup.policy": "compact,delete", "retention.ms": "5", "delete.retention.ms": "0"}',
    '{"cleanup.policy": "compact", "delete.retention.ms": "1000"}',
    '{"retention.ms": "-1", "retention.bytes": "100"}',
    '{"message.timestamp.type": "LogAppendTime"}',
    '{"message.timestamp.type": "LogAppendTime", "retention.ms": "5"}',
    '{"message.timestamp.type": "CreateTime", "retention.ms": "-1"}',
    '{"cleanup.policy": "delete", "retention.ms": "5", "segment.ms": "1",'
    ' "log.retention.check.interval.ms": "1", "log.initial.task.delay.ms": "0"}',
]


def place() -> dict[str, st.SearchStrategy[Any]]:
    return {
        "topic": st.sampled_from(["t", "t", "u"]),
        "topic_id": st.sampled_from([None, None, "a", "b"]),
        "partition": st.integers(0, 1),
    }


def sends() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        place()
        | {
            "f": st.just("send"),
            "type": OUTCOME,
            "value": VALUE,
            "offset": st.one_of(OFFSET, st.none()),
            "acks": st.sampled_from([-1, -1, -1, 1, 0, None]),
            "idempotent": st.sampled_from([True, True, False, None]),
            "client": st.sampled_from([None, "confluent", "jepsen"]),
            "txn": st.one_of(st.none(), st.integers(1, 2)),
            "detail": st.sampled_from([None] * 3 + [DECIDED_BY.format(5)]),
        }
        | KEY
    )


def sends_of_one_operation() -> st.SearchStrategy[list[Row]]:
    return st.lists(sends(), min_size=1, max_size=3).map(
        lambda rows: [row | {"record_index": n} for n, row in enumerate(rows)]
    )


def polls() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        place()
        | {
            "f": st.just("poll"),
            "type": OUTCOME,
            "value": VALUE,
            "offset": st.one_of(OFFSET, st.none()),
            "isolation": ISOLATION,
            "process": st.integers(1, 2),
            "session": st.integers(0, 1),
            "group": st.sampled_from([None, "g"]),
            "member_id": st.sampled_from(["m"] * 9 + [None]),
            "log_start": st.sampled_from([None] * 9 + [2]),
            "txn": st.sampled_from([None, None, 1, 2]),
            "client": st.sampled_from([None, "confluent", "confluent", "jepsen"]),
        }
        | KEY
    )


def raw_reads() -> st.SearchStrategy[list[Row]]:
    """Draw one raw read of one partition: offsets grow, some records are markers."""
    record = st.fixed_dictionaries(
        {
            "value": VALUE,
            "control": st.sampled_from([None, None, "commit", "abort"]),
            "producer_id": st.sampled_from([-1, 7, 7, 8]),
            "producer_epoch": st.sampled_from([None, 0, 0, 1]),
            "skipped": st.integers(0, 1),
            "sequence": st.integers(-1, 3),
            "leader_epoch": st.integers(-1, 2),
        }
        | KEY
    )
    shared = st.fixed_dictionaries(
        place()
        | {
            "f": st.just("poll"),
            "isolation": st.just("read_uncommitted"),
            "client": st.just("raw"),
            "process": st.just(9),
            "replica": st.sampled_from([None, None, 1]),
            "high_watermark": st.sampled_from([None, 3]),
        }
    )
    return st.builds(
        lambda common, records: [common | _placed(record, n) for n, record in enumerate(records)],
        shared,
        st.lists(record, max_size=6),
    )


def readings_of_replicas() -> st.SearchStrategy[list[Row]]:
    """Draw one operation that reads a leader and a follower with small, similar logs."""
    own = st.fixed_dictionaries(
        {
            "value": st.sampled_from([1, 1, 1, 2]),
            "kept": st.sampled_from([True, True, False]),
            "producer_id": st.just(7),
            "producer_epoch": st.just(0),
            "sequence": st.just(0),
            "leader_epoch": st.sampled_from([0] * 9 + [1]),
            "batch_base_offset": st.sampled_from([None, 0, 0, 0, 1]),
            "control": st.sampled_from([None] * 9 + ["commit"]),
        }
        | KEY
    )
    end = st.fixed_dictionaries(
        {
            "high_watermark": st.integers(0, 4),
            "log_start": st.sampled_from([None, 0, 0, 1]),
            "type": st.sampled_from(["ok", "ok", "ok", "info"]),
        }
    )
    shared = st.fixed_dictionaries(
        place() | {"final": st.sampled_from([True, True, False]), "client": st.just("raw")}
    )
    replica = st.tuples(st.lists(own, max_size=4), end)
    return st.builds(_read_in_one, shared, st.lists(replica, min_size=1, max_size=3))


def _read_in_one(shared: Row, replicas: list[tuple[list[Row], Row]]) -> list[Row]:
    rows: list[Row] = []
    for number, (records, end) in enumerate(replicas):
        whose = shared | {"replica": number or None, "high_watermark": end["high_watermark"]}
        for offset, record in enumerate(records):
            plain = {column: value for column, value in record.items() if column != "kept"}
            if record["kept"]:
                value = None if record["control"] else record["value"]
                rows.append(whose | plain | {"f": "poll", "offset": offset, "value": value})
        rows.append(whose | end | {"f": "read_all"})
    return [row | {"record_index": n} for n, row in enumerate(rows)]


def _placed(record: Row, n: int) -> Row:
    """Return the n-th record of a read; from the fifth on there may be a hole before it."""
    plain = {column: value for column, value in record.items() if column != "skipped"}
    hole = record["skipped"] if n > 3 else 0
    value = None if record["control"] else record["value"]
    return plain | {"offset": n + hole, "record_index": n, "value": value}


def offsets_of_groups() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        place()
        | {
            "f": st.sampled_from(
                ["commit_offsets", "fetch_offsets", "send_offsets", "send_offsets", "position"]
            ),
            "type": OUTCOME,
            "offset": st.one_of(st.integers(0, 2), st.none()),
            "asked": st.sampled_from(["committed", "committed", "earliest", "latest", "offset"]),
            "asked_offset": st.one_of(st.integers(0, 2), st.none()),
            "group": st.sampled_from(["g", "g", None]),
            "txn": st.sampled_from([None, None, 1]),
            "t_complete_ns": st.sampled_from([None, 120, 10**13]),
            "final": st.booleans(),
            "generation": st.sampled_from([None, -1, 1, 1, 2]),
            "member_id": st.sampled_from([None, "m", "n"]),
            **EPOCH,
            "detail": st.sampled_from([None] * 4 + ["x"]),
            "error": st.sampled_from([None, "UNSTABLE_OFFSET_COMMIT"]),
        }
    )


def positions() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        place()
        | {
            "f": st.just("position"),
            "type": st.sampled_from(["ok", "ok", "info"]),
            "offset": st.one_of(OFFSET, st.none()),
            "process": st.integers(1, 2),
            "session": st.integers(0, 1),
            "asked_offset": st.one_of(OFFSET, st.none()),
            "asked": st.sampled_from(
                [None, "earliest", "latest", "offset", "committed", "timestamp"]
            ),
            "log_start": st.sampled_from([None, None, 0, 1]),
        }
    )


def others() -> st.SearchStrategy[Row]:
    whole = st.fixed_dictionaries(
        place()
        | {
            "f": st.sampled_from(["read_all", "read_all", "poll"]),
            "type": OUTCOME,
            "isolation": ISOLATION,
            "log_start": st.sampled_from([None, 0, 1]),
            "high_watermark": st.one_of(st.none(), st.integers(0, 6)),
            "last_stable_offset": st.one_of(st.none(), st.integers(0, 6)),
            "client": st.sampled_from([None, "raw"]),
            "leader_epoch": st.sampled_from([None, 0, 0, 1]),
            "node": st.sampled_from([None, 1, 1, 2]),
            "replica": st.sampled_from([None] * 4 + [1]),
            "final": st.booleans(),
            "t_complete_ns": st.sampled_from([None, 10**13]),
            "size_bytes": st.sampled_from([None, None, 99, 100]),
        }
    ).flatmap(
        lambda row: st.sampled_from([row, row | {"t_invoke_ns": 10**13, "t_complete_ns": 10**13}])
    )
    owned = st.fixed_dictionaries(
        place()
        | {
            "f": st.just("owned"),
            "group": st.just("g"),
            "member_id": st.sampled_from(["m", "n"]),
            "generation": st.sampled_from([None, 1, 2]),
            "settings": st.sampled_from(
                [None, *['{"group.protocol": "classic"}'] * 3, '{"group.protocol": "consumer"}']
            ),
        }
    )
    producers = st.fixed_dictionaries(
        {
            "f": st.sampled_from(["begin", "init_producer"]),
            "type": OUTCOME,
            "txn": st.integers(1, 2),
            "process": st.integers(1, 2),
            "transactional_id": st.sampled_from([None, "p", "p"]),
            "settings": st.sampled_from([None, '{"transaction.timeout.ms": "1000"}']),
            "asked": st.sampled_from([None, "epoch"]),
            "asked_offset": st.one_of(st.none(), st.integers(0, 1)),
            **EPOCH,
        }
    )
    settings = st.fixed_dictionaries(
        place()
        | {
            "f": st.just("topic"),
            "type": st.just("ok"),
            "settings": st.sampled_from(SETTINGS),
            "timestamp_ms": st.sampled_from([None, 0]),
        }
    )
    deletions = st.fixed_dictionaries(
        place()
        | {
            "f": st.just("delete_records"),
            "type": OUTCOME,
            "offset": st.one_of(st.none(), st.integers(0, 3)),
            "log_start": st.sampled_from([None, 1, 2]),
            "leader_epoch": st.sampled_from([None, 0, 0, 1]),
        }
    )
    return st.one_of(
        ends(), whole, offsets_of_groups(), settings, deletions, positions(), producers, owned
    )


def ends() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "f": st.sampled_from(["commit", "abort"]),
            "txn": st.integers(1, 2),
            "type": OUTCOME,
            "error": st.sampled_from([None, "PRODUCER_FENCED"]),
        }
    )


def operations() -> st.SearchStrategy[list[Row]]:
    return st.one_of(
        sends_of_one_operation(),
        polls().map(lambda row: [row]),
        raw_reads(),
        others().map(lambda row: [row]),
        readings_of_replicas(),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    drawn = draw(st.lists(operations(), max_size=14))
    rows = [row | {"op_id": n} for n, rows in enumerate(drawn) for row in rows]
    return frame(rows).rows(named=True)


@settings(max_examples=20)
@given(histories())
def test_kernels_find_what_their_twins_find(rows: list[Row]) -> None:
    events = resolved(frame(rows).lazy()).sort("op_id", "record_index")
    plain = sorted(resolve(rows), key=lambda row: (row["op_id"], row["record_index"]))
    assert events["outcome"].to_list() == [row["outcome"] for row in plain]
    for name, twin in TWINS.items():
        assert by_kernel(events, name) == twin(plain), name


def by_kernel(events: Any, name: str) -> Found:
    checker = CHECKERS[name]
    found = anomalies_of(checker, events)
    place = ["topic", "topic_id", "partition"]
    place += {Scope.VALUE: ["value"], Scope.TRANSACTION: ["txn"]}.get(checker.scope, [])
    return {
        (row["kind"], tuple(row["op_ids"]), tuple(row[column] for column in place))
        for row in found.iter_rows(named=True)
    }
