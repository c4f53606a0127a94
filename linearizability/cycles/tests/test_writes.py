"""Cycles of writes are told by Jepsen's profile, with the records that close them, and forgiven."""

from __future__ import annotations

from pathlib import Path

from linearizability.cycles import writes
from linearizability.hand_written.rows import END, P, Row, S
from linearizability.history import frame, write
from linearizability.judging import check
from linearizability.opinions.profiles import under_profile
from linearizability.verdict import CheckerVerdict, Validity

OTHER = {"partition": 1}
COMMITS = [END("commit", txn) for txn in (1, 2, 3)]


def told(rows: list[Row]) -> CheckerVerdict:
    return writes.write_cycles(frame(rows).lazy())


def test_two_transactions_before_each_other_in_two_partitions() -> None:
    rows = [
        S(1, 0, txn=1),
        S(2, 1, txn=2),
        S(3, 0, txn=2, **OTHER),
        S(4, 1, txn=1, **OTHER),
        *COMMITS,
    ]
    opinion = told(rows)
    assert (opinion.validity, opinion.checked, opinion.anomaly_count) == (Validity.VALID, 2, 1)
    (cycle,) = opinion.anomalies
    assert (cycle.kind, cycle.operations) == ("write-cycle", (0, 1, 2, 3))
    assert cycle.message == (
        "transactions precede each other in a circle: "
        "record 2 of transaction 2 comes after record 1 of transaction 1 (t-0, offset 1), "
        "record 4 of transaction 1 comes after record 3 of transaction 2 (t-1, offset 1)"
    )
    assert opinion.reason is not None and "G0, allowed" in opinion.reason


def test_records_between_each_others_close_a_circle_within_a_partition() -> None:
    opinion = told([S(1, 0, txn=1), S(2, 1, txn=2), S(3, 2, txn=1), *COMMITS])
    assert [a.operations for a in opinion.anomalies] == [(0, 1, 2)]


def test_of_more_transactions_the_shortest_circle_is_told_once() -> None:
    rows = [
        *(S(n, n, txn=txn) for n, txn in enumerate((1, 2, 3, 1))),
        S(8, 0, txn=2, **OTHER),
        S(9, 1, txn=1, **OTHER),
        *COMMITS,
    ]
    opinion = told(rows)
    assert [a.operations for a in opinion.anomalies] == [(0, 1, 4, 5)]


def test_what_stands_in_one_order_or_has_not_committed_closes_none() -> None:
    in_order = [S(1, 0, txn=1), S(2, 1, txn=2), S(3, 0, txn=1, **OTHER), S(4, 1, txn=2, **OTHER)]
    assert (told([*in_order, *COMMITS]).checked, told([*in_order, *COMMITS]).anomalies) == (2, ())
    aborted = [S(1, 0, txn=1), S(2, 1, txn=2), S(3, 2, txn=1), END("abort", 2), END("commit", 1)]
    assert told(aborted).validity is Validity.NOT_APPLICABLE
    a, b = {"topic_id": "a"}, {"topic_id": "b"}
    namesakes = [
        S(1, 0, txn=1, **a),
        S(2, 1, txn=2, **b),
        S(3, 0, txn=2, **a, **OTHER),
        S(4, 1, txn=1, **a, **OTHER),
        *COMMITS,
    ]
    assert told(namesakes).anomalies == ()


def test_only_jepsens_profile_tells_and_nothing_is_invalid_by_it(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    rows = [S(1, 0, txn=1), S(2, 1, txn=2), S(3, 2, txn=1), *COMMITS, P(1, 0), P(2, 1), P(3, 2)]
    write(file, frame(rows))
    ours = check(file, engine="local")
    assert ours.anomalies == []
    by_jepsen = under_profile(ours, file, "jepsen")
    assert [(name, anomaly.kind) for name, anomaly in by_jepsen.anomalies] == [
        (writes.NAME, "write-cycle")
    ]
    assert by_jepsen.validity is Validity.VALID
