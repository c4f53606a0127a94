"""Availability of runs: by hand, by a dumb twin, and on histories of the model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.guarantees.stale_reads.histories import NOTHING
from linearizability.hand_written.rows import END, FAULT, P, Row, S, at
from linearizability.history import frame
from linearizability.measures.availability import Availability, measured, opinion
from linearizability.self_test.model.histories import valid_rows
from linearizability.verdict import CheckerVerdict, Validity

SECOND = 1_000_000_000
JEPSEN: Row = {"client": "jepsen"}
BROKEN = [S(1, 0, **at(0)), FAULT("Kill", **at(1)), FAULT("Heal", **at(10))]


def of(rows: list[Row]) -> Availability:
    return measured(frame(rows).lazy())


def judged(rows: list[Row], bounds: Bounds = NOTHING_STATED) -> CheckerVerdict:
    return opinion(of(rows), bounds)


@pytest.mark.parametrize(
    ("rows", "bounds"),
    [
        ([*BROKEN, S(2, 1, **at(12))], Bounds()),
        ([*BROKEN, S(2, **at(100)), S(3, 1, **at(3600))], Bounds()),
        ([*BROKEN, S(2, **at(30))], Bounds()),
        ([*BROKEN, *(NOTHING(**at(second)) for second in (11, 3600))], Bounds()),
        ([*BROKEN, P(1, 0, final=True, **at(99))], Bounds()),
        ([*BROKEN, P(None, None, **JEPSEN, type="fail", **at(99))], Bounds()),
        ([*BROKEN, S(2, 1, **at(12))], Bounds(longest_gap_s=13, recovery_s=3, error_rate=0)),
    ],
    ids=[
        "recovers",
        "recovers late",
        "nobody asked for long",
        "there was nothing to give",
        "the final read succeeds",
        "what Jepsen polled in vain tells nothing",
        "within bounds",
    ],
)
def test_a_run_is_served_well_enough(rows: list[Row], bounds: Bounds) -> None:
    found = judged(rows, bounds)
    wanted = Validity.NOT_APPLICABLE if bounds == Bounds() else Validity.VALID
    assert (found.validity, found.anomalies) == (wanted, ())


@pytest.mark.parametrize(
    ("rows", "bounds", "anomaly"),
    [
        ([*BROKEN, S(2, **at(71))], Bounds(), ("never-recovered", (2,))),
        ([*BROKEN, S(2, None, acks=0, type="ok", **at(71))], Bounds(), ("never-recovered", (2,))),
        ([*BROKEN, S(2, 1, **at(12))], Bounds(recovery_s=1), ("recovery-over-bound", (2, 3))),
        ([*BROKEN, S(2, 1, **at(12))], Bounds(longest_gap_s=11), ("gap-over-bound", (0, 3))),
        (
            [*BROKEN, *(row | JEPSEN for row in (S(2, **at(71)), END("abort", 1, **at(71))))],
            Bounds(),
            ("never-recovered", (2,)),
        ),
        (
            [*BROKEN, S(2, **at(11)), S(3, 1, **at(12))],
            Bounds(error_rate=0.3),
            ("errors-over-bound", ()),
        ),
    ],
    ids=["never", "acks=0 tells nothing", "late", "gap", "only an importer's words", "errors"],
)
def test_a_run_that_is_not_names_the_operations(
    rows: list[Row], bounds: Bounds, anomaly: tuple[str, tuple[int, ...]]
) -> None:
    verdict = judged(rows, bounds)
    assert [(a.kind, a.operations) for a in verdict.anomalies] == [anomaly]
    assert verdict.validity is Validity.INVALID
    assert verdict.checked > 0


@pytest.mark.parametrize("rows", [[], [S(1, 0)], [NOTHING()], [FAULT("Heal")]])
def test_a_run_without_heals_and_bounds_is_not_judged(rows: list[Row]) -> None:
    assert judged(rows).validity is Validity.NOT_APPLICABLE


def test_it_vouches_for_no_record() -> None:
    assert judged([*BROKEN, S(2, 1, **at(12))]).checked == 0


def test_it_tells_gaps_errors_and_recoveries() -> None:
    found = of([*BROKEN, S(2, **at(11)), S(3, 1, **at(12))])
    assert (found.operations, found.failed) == (3, 1)
    assert found.error_rate == pytest.approx(1 / 3)
    assert [(gap.seconds, gap.operations) for gap in found.gaps] == [(12.0, (0, 4))]
    assert [recovery.seconds for recovery in found.recoveries] == [2.0]
    assert found.as_dict()["longest_gap_s"] == 12.0


@pytest.mark.seeds(20)
def test_on_the_model_only_a_cluster_that_stays_dead_is_reported(seed: int) -> None:
    rows = valid_rows(seed, turns=300)
    last = max(row["t_complete_ns"] or 0 for row in rows) // SECOND + 1
    number = len(rows) + 10_000
    healed = FAULT("Heal", op_id=number, **at(last))
    assert judged(rows).validity is Validity.NOT_APPLICABLE
    assert judged([*rows, healed]).validity is Validity.NOT_APPLICABLE
    asked = S(1, op_id=number + 1, **at(last + 61))
    assert [a.kind for a in judged([*rows, healed, asked]).anomalies] == ["never-recovered"]
    answered = S(2, 999, op_id=number + 2, **at(last + 62))
    assert judged([*rows, healed, asked, answered]).validity is Validity.NOT_APPLICABLE


def test_availability_is_a_share_of_time_not_of_operations() -> None:
    """Served for 10 s, twice a second; then nothing for 30 s, in which one operation failed; then
    one succeeded: 22 operations of 23, in a quarter of the time."""
    served = [
        S(n, n, t_invoke_ns=n * SECOND // 2, t_complete_ns=n * SECOND // 2) for n in range(21)
    ]
    found = of([*served, S(98, **at(25)), S(99, 21, **at(40))])
    assert found.error_rate == pytest.approx(1 / 23)
    assert found.share == pytest.approx(10 / 40)
    assert found.as_dict()["share"] == found.share
    assert found.served() == "served 25.0% of the time"


def test_each_role_has_gaps_of_its_own() -> None:
    """A group that is given nothing for half a minute is not hidden by producers who succeed."""
    member = {"group": "g", "member_id": "m"}
    sends = [S(n, n, **at(n)) for n in range(40)]
    rows = [*sends, P(0, 0, **at(2), **member), *(NOTHING(**at(n), **member) for n in range(3, 38))]
    rows += [P(n, n, **at(n + 1), process=2) for n in range(1, 39)]
    found = of(rows)
    assert {name: role.longest_gap_s for name, role in found.roles.items()} == {
        "group g": 34.0,
        "producers": 0.0,
        "readers": 0.0,
    }
    assert found.longest_gap() == "longest gap 34.0 s (group g)"
    assert found.roles["group g"].share == pytest.approx(1 / 35)
    assert found.as_dict()["roles"]["producers"]["share"] == 1.0


# --- the twin ------------------------------------------------------------------------------------


def twin(rows: list[Row]) -> tuple[Any, ...]:
    """Compute operations, failed, gaps and recoveries in plain loops; times in nanoseconds."""
    served = ("send", "commit", "abort", "read_all", "commit_offsets", "fetch_offsets")
    asked = [
        r
        for r in rows
        if r["f"] in served or (r["f"] == "poll" and (r["offset"] is not None or r["type"] != "ok"))
    ]
    good = [r for r in asked if r["type"] == "ok" and r["acks"] != 0]
    early = [r for r in asked if not r["final"]]
    failed = {r["op_id"] for r in early if r["type"] != "ok"}
    times = sorted({r["t_complete_ns"] for r in good if not r["final"]})
    gaps: list[tuple[int, int]] = []
    if early:
        edges = [min(r["t_invoke_ns"] for r in early), max(r["t_complete_ns"] for r in early)]
        gaps = [p for p in pairwise([edges[0], *times, edges[1]]) if p[1] - p[0] >= SECOND]
    heals = [r for r in rows if r["f"] == "nemesis" and "Heal" in r["detail"]]
    after = [
        min(
            (g["t_complete_ns"] for g in good if g["t_complete_ns"] > h["t_complete_ns"]),
            default=None,
        )
        for h in sorted(heals, key=lambda h: h["t_complete_ns"])
    ]
    return len({r["op_id"] for r in early}), len(failed), gaps, after


def single() -> st.SearchStrategy[Row]:
    kind = st.sampled_from(["ok", "ok", "info", "fail"])
    final = st.booleans()
    return st.one_of(
        st.builds(
            lambda t, a, final: S(1, 0, type=t, acks=a, final=final),
            kind,
            st.sampled_from([-1, -1, 0]),
            final,
        ),
        st.builds(lambda t, final: P(1, 0, type=t, final=final), kind, final),
        st.builds(lambda t: NOTHING(type=t), kind),
        st.builds(lambda t: END("commit", 1, type=t), kind),
        st.builds(FAULT, st.sampled_from(["Kill", "Heal"])),
    )


@settings(max_examples=150)
@given(st.lists(st.tuples(single(), st.integers(0, 3), st.integers(0, 2)), max_size=10))
def test_it_measures_what_its_twin_measures(drawn: list[tuple[Row, int, int]]) -> None:
    now, rows = 0, []
    for row, wait, took in drawn:
        now += wait * SECOND // 2
        rows.append(row | {"t_invoke_ns": now, "t_complete_ns": now + took * SECOND})
    found = of(rows)
    operations, failed, gaps, after = twin(frame(rows).rows(named=True))
    assert (found.operations, found.failed) == (operations, failed)
    start = min((row["t_invoke_ns"] for row in rows), default=0)
    seconds = [((a - start) / SECOND, (b - start) / SECOND) for a, b in gaps]
    assert sorted((gap.start_s, gap.end_s) for gap in found.gaps) == sorted(seconds)
    assert [r.seconds is None for r in found.recoveries] == [a is None for a in after]
    assert [
        round(r.healed_s + r.seconds, 6) for r in found.recoveries if r.seconds is not None
    ] == [round((a - start) / SECOND, 6) for a in after if a is not None]
