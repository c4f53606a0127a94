"""A partition judged in pieces is judged as it is whole: the stages of Spark's, without Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from linearizability import ingest
from linearizability.checkers.base import COLUMNS_READ, Cut, Scope
from linearizability.checkers.table import CHECKERS
from linearizability.engine import cuts, exchange, large_partitions, local, stages
from linearizability.engine.exchange import Chunk, Tables, as_arrow, unpacked, whereabouts
from linearizability.engine.opinion import JUDGED, ROWS, judge, opinions
from linearizability.self_test.model.histories import joined, valid_rows
from linearizability.tests.huge import one_partition
from linearizability.tests.planted import write_planted
from linearizability.verdict import CheckerVerdict

BUCKETS = 3
STALE_AFTER_NS = 60_000_000_000
OF_PARTITIONS = [name for name, c in CHECKERS.items() if c.scope is Scope.PARTITION]
_NO_OUTCOMES = pl.LazyFrame(schema=stages.OUTCOMES)
CUT = {name for name, checker in CHECKERS.items() if checker.cut is not None}


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LARGE_PARTITION_ROWS", 0)


def in_pieces(rows: pl.DataFrame) -> list[CheckerVerdict]:
    """Do what `engine/spark.py` has its executors do."""
    survey = unpacked(as_arrow(exchange.surveyed(rows.select(exchange.SURVEYED))), exchange.SURVEY)
    where = whereabouts(survey, BUCKETS)
    assert where.has_large
    of_transactions = rows.select(stages.transaction_columns(where))
    known = [*stages.scatter_transactions(where, 0, of_transactions)]
    marked = stages.scatter_marked(where, 0, rows.select(stages.MARKED_COLUMNS))
    known += _each(
        marked, {stages.MARKED: stages.MARKED_ROWS}, partial(stages.find_markers, BUCKETS)
    )
    named = ingest.with_topic_ids(rows.lazy(), ingest.topic_ids(rows.lazy()))
    delivered = ingest.delivered_transactions(named)
    outcomes = _each(known, stages.TO_OUTCOMES, partial(stages.find_outcomes, delivered))
    events = [*stages.scatter_events(where, 0, rows.select(COLUMNS_READ)), *outcomes]
    judging = partial(stages.judge_bucket, OF_PARTITIONS, where, STALE_AFTER_NS)
    answers = as_arrow(_each(events, stages.TO_JUDGE, judging))
    return opinions(unpacked(answers, {stages.OPINION: ROWS})[stages.OPINION], OF_PARTITIONS)


def _each(
    chunks: Iterable[Chunk],
    schemas: Mapping[str, pl.Schema],
    work: Callable[[Tables], Iterable[Chunk]],
) -> list[Chunk]:
    """Shuffle: send each bucket's tables through the work."""
    buckets: dict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        buckets[chunk[0]].append(chunk)
    return [c for some in buckets.values() for c in work(unpacked(as_arrow(some), schemas))]


def test_valid_histories_stay_valid_in_pieces() -> None:
    rows = joined(valid_rows(seed) for seed in range(40, 46))
    assert in_pieces(rows) == local.run(rows.lazy(), OF_PARTITIONS)


def test_each_anomaly_is_found_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write_planted(file)
    rows = pl.read_parquet(file)
    found = in_pieces(rows)
    assert found == local.run(rows.lazy(), OF_PARTITIONS)
    assert {opinion.name for opinion in found if opinion.anomalies} == {*OF_PARTITIONS}


def test_what_lies_far_apart_is_found_in_pieces() -> None:
    rows = one_partition(500)
    found = in_pieces(rows)
    assert found == local.run(rows.lazy(), OF_PARTITIONS)
    assert {opinion.name for opinion in found if opinion.anomalies} >= CUT


def test_a_partition_on_disk_is_as_it_would_be_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """They agree also if rows were recorded out of order and operations are spread over chunks."""
    monkeypatch.setattr(exchange, "CHUNK_ROWS", 300)
    monkeypatch.setattr(large_partitions, "CHUNK_ROWS", 200)
    monkeypatch.setattr(large_partitions, "SLICE_ROWS", 300)
    rows = joined(valid_rows(seed) for seed in range(40, 44)).select(COLUMNS_READ)
    eras = {
        "era": pl.lit(0, pl.Int32),
        "own_era": pl.lit(0, pl.Int32),
        "longest_ns": pl.lit(None, pl.Int64),
    }
    history = rows.with_columns(**eras).sample(fraction=1, shuffle=True, seed=1)
    events = ingest.with_topic_ids(history.lazy(), ingest.topic_ids(history.lazy())).collect()
    partitions = events.filter(pl.col("topic").is_not_null())
    ends = ingest.ends_of_transactions(events.lazy())
    markers = ingest.markers_of_transactions(ingest.with_places(partitions).lazy())
    delivered = ingest.delivered_transactions(events.lazy())
    outcomes = ingest.outcomes_of_transactions(ends, markers, delivered)
    placed = ingest.with_places(partitions)
    expected = ingest.with_record_outcomes(ingest.with_transaction_outcomes(placed, outcomes))
    packed = as_arrow(exchange.packed(partitions, stages.LARGE))
    tables = unpacked(packed, {stages.LARGE: partitions.schema})
    assert packed.num_rows > 3
    assert set(expected["outcome"]) > {ingest.COMMITTED, ingest.ABORTED}
    with large_partitions.on_disk(tables.chunks(stages.LARGE), outcomes) as found:
        assert_frame_equal(found.collect(), expected, check_column_order=False)


@pytest.mark.parametrize("cut", Cut)
def test_a_piece_holds_the_columns_that_its_rules_read(cut: Cut) -> None:
    schema = {name: stages.EVENTS[name] for name in cuts.COLUMNS_CUT[cut]}
    rows = stages.with_transactions(pl.DataFrame(schema=schema), _NO_OUTCOMES)
    rules = cuts.cut_by(OF_PARTITIONS, cut)
    found = judge(rows.lazy(), Scope.PARTITION, rules, is_cut=True)
    assert found.filter(row=JUDGED)["checker"].to_list() == rules, found["message"].to_list()


def test_every_rule_of_partitions_says_how_it_is_cut_or_what_needs_the_whole() -> None:
    for checker in CHECKERS.values():
        is_of_partitions = checker.scope is Scope.PARTITION
        assert (checker.cut is not None) + bool(checker.whole) == is_of_partitions, checker.name
    assert {checker.cut for checker in CHECKERS.values()} == {None, *Cut}
