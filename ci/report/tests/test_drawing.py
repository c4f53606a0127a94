"""The arithmetic of the figures: bars that stand for many operations, bands, ticks."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from ci.report.timeline import merged
from linearizability.excuses.fault_spans import Fault, overlapping
from linearizability.explain.plots import TimeScale, fault_rows, nice_ticks

KEY = ["process", "kind", "outcome", "open"]

operations = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["send", "read"]),
        st.sampled_from(["ok", "info"]),
        st.floats(0, 50),
        st.floats(0, 5),
    ),
    min_size=1,
    max_size=60,
)
faults = st.lists(st.tuples(st.floats(0, 50), st.floats(0, 9)), max_size=12).map(
    lambda pairs: [Fault("Kill", (), start, start + long, True, "") for start, long in pairs]
)


def frame(rows: list[tuple[int, str, str, float, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(p, kind, outcome, start, start + took, False) for p, kind, outcome, start, took in rows],
        schema=["process", "kind", "outcome", "start", "end", "open"],
        orient="row",
    )


@given(operations, st.floats(0.001, 3), st.integers(12, 40))
@settings(max_examples=60)
def test_bars_hold_every_operation_once_and_join_only_what_is_near(
    rows: list[tuple[int, str, str, float, float]], gap_s: float, bars_max: int
) -> None:
    bars = merged(frame(rows), gap_s, bars_max)
    assert bars["operations"].sum() == len(rows)
    assert bars.height <= bars_max
    spans = bars.rows(named=True)
    for process, kind, outcome, start, took in rows:
        inside = [
            bar
            for bar in spans
            if (bar["process"], bar["kind"], bar["outcome"]) == (process, kind, outcome)
            and bar["start"] <= start
            and bar["end"] >= start + took
        ]
        assert len(inside) == 1
    if len(rows) <= bars_max:
        for _, lane in bars.sort(*KEY, "start").group_by(KEY):
            between = lane["start"][1:] - lane["end"][:-1]
            assert all(apart > gap_s for apart in between)


@given(faults)
def test_bands_never_overlap_and_labels_of_one_row_never_do(all_faults: list[Fault]) -> None:
    groups = overlapping(all_faults)
    assert sorted(map(id, all_faults)) == sorted(id(f) for group in groups for f in group)
    ends = [max(fault.end_s for fault in group) for group in groups]
    starts = [group[0].start_s for group in groups]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    ordered = sorted(all_faults, key=lambda fault: fault.start_s)
    rows = fault_rows(ordered)
    for row in set(rows):
        lane = [fault for fault, its in zip(ordered, rows, strict=True) if its == row]
        assert all(a.end_s <= b.start_s for a, b in pairwise(lane))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
def test_ticks_are_few_even_and_inside(low: float, span: float, wanted: int) -> None:
    ticks = nice_ticks(low, low + span, wanted)
    assert len(ticks) <= wanted + 1
    slack = max(abs(low), span) * 1e-9
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)


def test_a_moment_outside_of_the_scale_is_drawn_at_its_edge() -> None:
    scale = TimeScale(10, 20)
    assert scale.x(5) == scale.x(10) < scale.x(15) < scale.x(20) == scale.x(99)
