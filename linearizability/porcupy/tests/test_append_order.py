"""The kernel of append_order: hand-written histories, no false alarms, and its dumb twin."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from linearizability import history
from linearizability.history import PARTITION
from linearizability.ingest import KEY
from linearizability.porcupy.append_order import (
    ANOMALY_COLUMNS,
    anomalies_with_offsets,
    append_order_anomalies,
    checked,
    of_partitions,
)
from linearizability.porcupy.tests.logs import Found, oracle, toy_history


def send(at: int, end: int | None, value: int, offset: int | None, **other: Any) -> dict[str, Any]:
    row = {
        "f": "send",
        "topic": "t",
        "partition": 0,
        "acks": -1,
        "value": value,
        "offset": offset,
        "t_invoke_ns": at,
        "t_complete_ns": end,
    }
    return row | other


def poll(at: int, end: int | None, value: int, offset: int, **other: Any) -> dict[str, Any]:
    row = {
        "f": "poll",
        "topic": "t",
        "partition": 0,
        "value": value,
        "offset": offset,
        "t_invoke_ns": at,
        "t_complete_ns": end,
    }
    return row | other


def judge(*rows: dict[str, Any]) -> list[tuple[str, list[int]]]:
    found = append_order_anomalies(history.frame(rows).lazy()).collect()
    assert tuple(found.columns) == ANOMALY_COLUMNS
    assert found["message"].null_count() == 0
    return list(found.select("kind", "op_ids").iter_rows())


def test_an_empty_history_has_no_anomalies_and_nothing_checked() -> None:
    empty = pl.DataFrame(schema=history.SCHEMA).lazy()
    assert len(append_order_anomalies(empty).collect()) == 0
    assert checked(empty).collect().item() == 0


def test_a_later_send_at_a_lower_offset_is_found() -> None:
    assert judge(send(0, 10, 1, 5), send(20, 30, 2, 4)) == [("append-order", [1, 0])]


def test_concurrent_sends_may_be_in_either_order() -> None:
    assert judge(send(0, 20, 1, 5), send(20, 30, 2, 4)) == []


def test_partitions_are_judged_apart() -> None:
    assert judge(send(0, 10, 1, 5), send(20, 30, 2, 4, partition=1)) == []


def test_topics_of_one_name_are_judged_apart_by_their_ids() -> None:
    first, again = {"topic_id": "first"}, {"topic_id": "again"}
    assert judge(send(0, 10, 1, 5, **first), send(20, 30, 2, 4, **again)) == []
    assert judge(send(0, 10, 1, 5, **first), send(20, 30, 2, 4, **first)) != []


def test_a_topic_id_that_only_the_reader_knows_does_not_split_the_partition() -> None:
    rows = (send(40, None, 1, None, type="info"), poll(0, 10, 1, 3, topic_id="known"))
    assert judge(*rows) == [("read-before-append", [0, 1])]


def test_acknowledgements_of_the_leader_alone_prove_nothing() -> None:
    assert judge(send(0, 10, 1, 5, acks=1), send(20, 30, 2, 4)) == []
    assert judge(send(0, 10, 1, 5), send(20, 30, 2, 4, acks=1)) == []


def test_two_acknowledgements_of_one_offset_are_found() -> None:
    assert judge(send(0, 10, 1, 5), send(5, 12, 2, 5)) == [("same-offset", [0, 1])]


def test_an_unknown_send_counts_where_a_poll_shows_it() -> None:
    unknown = send(20, 30, 2, None, type="info")
    assert judge(send(0, 10, 1, 5), unknown) == []
    assert judge(send(0, 10, 1, 5), unknown, poll(50, 60, 2, 4)) == [("append-order", [1, 0])]
    assert judge(send(0, 10, 1, 5), unknown, poll(50, 60, 2, 6)) == []


def test_an_unknown_send_has_no_end() -> None:
    """The send timed out at 10, and still arrived after the send that was invoked at 20."""
    late = send(0, 10, 1, None, type="info")
    assert judge(late, send(20, 30, 2, 4), poll(50, 60, 1, 5)) == []


def test_a_failed_send_is_left_to_other_checkers() -> None:
    failed = send(20, 30, 2, None, type="fail")
    assert judge(send(0, 10, 1, 5), failed, poll(50, 60, 2, 4)) == []


def test_a_value_sent_twice_is_not_taken_for_either() -> None:
    twice = (send(0, 5, 2, None, type="info"), send(20, 30, 2, None, type="info"))
    assert judge(send(6, 10, 1, 5), *twice, poll(50, 60, 2, 4)) == []


def test_a_record_read_before_it_was_sent_is_found() -> None:
    assert judge(poll(0, 10, 1, 3), send(20, 30, 1, 3)) == [("read-before-append", [1, 0])]


def test_an_aborted_records_offset_given_again_is_found() -> None:
    rows = (send(0, 10, 1, 3), send(20, 30, 2, 3, txn=7), poll(40, 50, 2, 3))
    assert judge(*rows) == [("same-offset", [0, 1])]


def test_a_short_poll_proves_nothing() -> None:
    assert judge(send(0, 10, 1, 0), send(11, 20, 2, 1), poll(30, 40, 1, 0)) == []


def test_records_of_one_replica_above_its_high_watermark_prove_nothing() -> None:
    late = send(20, 30, 1, 3)
    assert judge(late, poll(0, 10, 9, 4, replica=1, high_watermark=4)) == []
    assert judge(late, poll(0, 10, 9, 4, replica=1)) == []
    found = [("read-before-append", [0, 1])]
    assert judge(late, poll(0, 10, 9, 4, replica=1, high_watermark=5)) == found


def test_an_honest_log_is_never_accused() -> None:
    """Retries, unknown outcomes, lost answers, duplicates, control records, all acks."""
    honest = pl.concat([toy_history(f"honest {seed}", 120) for seed in range(150)]).lazy()
    found = append_order_anomalies(honest).collect()
    assert len(found) == 0, found.rows()
    assert checked(honest).collect().item() > 150 * 30


def test_the_kernel_agrees_with_its_dumb_twin() -> None:
    damaged = pl.concat(
        [toy_history(f"damaged {n}", 5 + n % 60, damage=1 + n % 4) for n in range(600)]
    )
    columns = ["topic", "partition", "offset", "kind", "op_ids"]
    names = of_partitions(damaged.lazy()).select(*KEY, *PARTITION).unique().collect()
    rows = anomalies_with_offsets(damaged.lazy()).collect().join(names, on=KEY).select(columns)
    found: set[Found] = {(*row[:4], tuple(row[4])) for row in rows.iter_rows()}
    assert found == oracle(damaged)
    kinds = Counter(kind for _, _, _, kind, _ in found)
    assert min(kinds[k] for k in ("append-order", "read-before-append", "same-offset")) > 10, kinds


@pytest.mark.parametrize("permuted", [False, True])
def test_the_order_of_rows_does_not_matter(permuted: bool, tmp_path: Path) -> None:
    damaged = toy_history("rows", 200, damage=20)
    expected = append_order_anomalies(damaged.lazy()).collect()
    assert len(expected) > 0
    shown = damaged.sample(fraction=1, shuffle=True, seed=3) if permuted else damaged
    file = tmp_path / "history.parquet"
    history.write(file, shown)
    assert append_order_anomalies(history.scan(file)).collect().equals(expected)
