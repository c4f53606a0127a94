"""The kernel of `readable_partitions` and its twin find the same partitions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.bounds import NANOSECONDS
from linearizability.guarantees.tests.test_twins import by_kernel
from linearizability.guarantees.tests.twins import twin_of
from linearizability.history import frame
from linearizability.ingest import resolved
from linearizability.twins.facts import Row, resolve

ERRORS = [*["FENCED_LEADER_EPOCH"] * 20, "KAFKA_STORAGE_ERROR", "_NO_RECORDS", None]


def tries() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "f": st.just("try_read"),
            "topic": st.just("t"),
            "partition": st.sampled_from([0, 0, 0, 0, 1]),
            "type": st.sampled_from([*["fail", "info"] * 7, "ok"]),
            "final": st.sampled_from([True] * 9 + [False]),
            "asked": st.sampled_from(["answered", "answered", "answered", "silent", None]),
            "asked_offset": st.sampled_from([None] + [3] * 20),
            "error": st.sampled_from(ERRORS),
            "node": st.sampled_from([None, 1]),
            "seconds": st.integers(0, 15),
            "lasts": st.sampled_from([1, 1, 1, 5, None]),
        }
    )


def topics() -> st.SearchStrategy[Row]:
    told = st.sampled_from(["{}", '{"cleanup.policy": "compact"}'])
    own = {"f": "topic", "topic": "t", "partition": 0, "seconds": 0, "lasts": 0}
    return told.map(lambda text: own | {"settings": text})


@settings(max_examples=150)
@given(st.lists(tries(), max_size=14), st.lists(topics(), max_size=1))
def test_the_kernel_finds_what_its_twin_finds(tried: list[Row], told: list[Row]) -> None:
    rows, now_s = [], 0
    for number, drawn in enumerate([*told, *tried]):
        row = dict(drawn)
        now_s += row.pop("seconds")
        lasts = row.pop("lasts")
        ended = None if lasts is None else (now_s + lasts) * NANOSECONDS
        times = {"t_invoke_ns": now_s * NANOSECONDS, "t_complete_ns": ended}
        rows.append(row | times | {"op_id": number})
    whole = frame(rows).rows(named=True)
    events = resolved(frame(whole).lazy()).sort("op_id", "record_index")
    found = twin_of("readable_partitions")(resolve(whole))
    assert by_kernel(events, "readable_partitions") == found
