"""The kernel of `timestamp_types` and its twin find the same append times that go back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.guarantees.tests.test_twins import by_kernel
from linearizability.guarantees.tests.twins import twin_of
from linearizability.history import frame
from linearizability.ingest import resolved
from linearizability.twins.facts import Row, resolve

TIME_MS = st.sampled_from([0, 50, 100, 101, 200, 350, 351, None])


def reads() -> st.SearchStrategy[list[Row]]:
    """Draw one operation that reads records of one partition raw, from a leader or a follower."""
    record = st.fixed_dictionaries(
        {
            "value": st.sampled_from([1, 2, 3, 4, 5, None]),
            "offset": st.integers(0, 4),
            "leader_epoch": st.sampled_from([0, 0, 0, 1, -1, None]),
            "timestamp_ms": TIME_MS,
            "timestamp_type": st.sampled_from(["append"] * 5 + ["create", None]),
            "control": st.sampled_from([None] * 9 + ["commit"]),
        }
    )
    shared = st.fixed_dictionaries(
        {
            "partition": st.sampled_from([0, 0, 0, 1]),
            "replica": st.sampled_from([None, None, 1]),
            "high_watermark": st.sampled_from([None, 3]),
        }
    )
    return st.builds(
        lambda own, records: [
            {"f": "poll", "topic": "t", "record_index": n} | own | record
            for n, record in enumerate(records)
        ],
        shared,
        st.lists(record, min_size=1, max_size=6),
    )


def sends() -> st.SearchStrategy[list[Row]]:
    value = st.fixed_dictionaries(
        {"value": st.integers(1, 5), "partition": st.sampled_from([0, 0, 0, 1])}
    )
    return value.map(lambda row: [{"f": "send", "topic": "t", "type": "info"} | row])


@settings(max_examples=100)
@given(st.lists(st.one_of(reads(), sends(), sends()), max_size=12))
def test_the_kernel_finds_the_steps_back_that_its_twin_finds(drawn: list[list[Row]]) -> None:
    rows = [row | {"op_id": n} for n, some in enumerate(drawn) for row in some]
    told = frame(rows).rows(named=True)
    events = resolved(frame(told).lazy()).sort("op_id", "record_index")
    plain = sorted(resolve(told), key=lambda row: (row["op_id"], row["record_index"]))
    assert by_kernel(events, "timestamp_types") == twin_of("timestamp_types")(plain)
