"""Rules and twins agree, as in `test_twins`, on histories of some minutes with readers, faults and
final reads."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.guarantees.tests.test_twins import by_kernel
from linearizability.guarantees.tests.twins import twin_of
from linearizability.history import frame
from linearizability.ingest import resolved
from linearizability.twins.facts import Row, resolve

SECOND = 1_000_000_000
OFFSET, VALUE = st.integers(0, 3), st.integers(1, 4)
READER = {
    "process": st.integers(1, 2),
    "group": st.just("g"),
    "member_id": st.sampled_from([None, None, "m"]),
}
HERE: dict[str, st.SearchStrategy[Any]] = {
    "topic": st.just("t"),
    "partition": st.sampled_from([0] * 9 + [1]),
}
ISOLATION = st.sampled_from(["read_committed", "read_committed", "read_uncommitted", None])


def rows_of(**columns: Any) -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {n: c if isinstance(c, st.SearchStrategy) else st.just(c) for n, c in columns.items()}
    )


SENDS = rows_of(
    f="send",
    **HERE,
    value=VALUE,
    offset=st.one_of(OFFSET, OFFSET, st.none()),
    type=st.sampled_from(["ok", "ok", "info", "fail"]),
    acks=st.sampled_from([-1, -1, -1, 0, 1]),
    idempotent=st.sampled_from([True, False, None]),
    txn=st.sampled_from([None, None, None, 1, 2]),
)
POLLS = rows_of(
    f="poll",
    **HERE,
    **READER,
    value=VALUE,
    offset=OFFSET,
    isolation=ISOLATION,
    type=st.sampled_from(["ok", "ok", "fail"]),
    client=st.sampled_from([None, "raw"]),
)
NOTHING = rows_of(
    f="poll", **READER, isolation=ISOLATION, type=st.sampled_from(["ok"] * 2 + ["info"])
)
LOST = rows_of(f="poll", **HERE, **READER, type="info")
ASSIGNS = rows_of(f="assign", **HERE, **READER, isolation=ISOLATION)
POSITIONS = rows_of(
    f="position",
    **HERE,
    **READER,
    isolation=ISOLATION,
    asked=st.sampled_from(["earliest", "latest", "offset", "committed"]),
    offset=st.one_of(OFFSET, st.none()),
    asked_offset=st.one_of(OFFSET, st.none()),
    log_start=st.sampled_from([None, None, 0, 1]),
)
TURNS = rows_of(f=st.sampled_from(["subscribe", "leave", "crash"]), **READER)
ENDS = rows_of(
    f=st.sampled_from(["commit", "abort"]),
    txn=st.integers(1, 2),
    type=st.sampled_from(["ok", "ok", "info"]),
)
FAULTS = rows_of(
    f="nemesis",
    process=-1,
    detail=st.sampled_from(["Kill", "Heal", "Heal", "Dance"]).map('{{"fault": "{}"}}'.format),
)
READINGS = st.builds(
    lambda shared, given, end: [
        *({**shared, "f": "poll", **record} for record in given),
        {**shared, "f": "read_all", **end},
    ],
    rows_of(**HERE, process=9, isolation=ISOLATION, client=st.sampled_from(["raw", "confluent"])),
    st.lists(rows_of(value=VALUE, offset=OFFSET), max_size=4),
    rows_of(
        log_start=st.sampled_from([None, 0, 0, 1]),
        high_watermark=st.integers(2, 4),
        last_stable_offset=st.sampled_from([None, 1, 4]),
        leader_epoch=st.sampled_from([None, 0, 0, 0, 1]),
        final=st.just(True),
    ),
)


ACKED = rows_of(
    f="send",
    topic="t",
    partition=0,
    value=VALUE,
    offset=OFFSET,
    acks=-1,
    idempotent=st.booleans(),
    txn=st.sampled_from([None, None, None, 1]),
)
BEGINS = rows_of(f="assign", topic="t", partition=0, process=1, isolation=ISOLATION)
ASKS = rows_of(f="poll", process=1)


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Draw a reader that is assigned a partition and a send; then whatever may happen."""
    rare = st.one_of(SENDS, POLLS, NOTHING, ASSIGNS, POSITIONS, TURNS, LOST, FAULTS)
    single = st.one_of(rare, ACKED, ASKS, ASKS, ENDS).map(lambda row: [row])
    begin = draw(st.sampled_from([[BEGINS, ACKED], [ACKED, BEGINS], [ACKED, ACKED], []]))
    later = draw(st.lists(st.one_of(single, single, READINGS), max_size=12))
    rows: list[Row] = []
    now = 0
    for n, own in enumerate([*([draw(one)] for one in begin), *later]):
        now += draw(st.sampled_from([1, 1, 20, 31, 70])) * SECOND
        times = {"t_invoke_ns": now, "t_complete_ns": now + draw(st.sampled_from([1, SECOND]))}
        rows += [row | times | {"op_id": n, "record_index": i} for i, row in enumerate(own)]
    return frame(rows).rows(named=True)


@settings(max_examples=100)
@given(histories())
def test_kernels_find_what_their_twins_find(rows: list[Row]) -> None:
    events = resolved(frame(rows).lazy())
    plain = resolve(rows)
    for name in ("delivery_semantics", "stale_reads"):
        assert by_kernel(events, name) == twin_of(name)(plain), name
