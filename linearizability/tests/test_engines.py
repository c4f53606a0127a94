"""Both engines say the same: verdict, counts, anomalies with their operations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from linearizability import history
from linearizability.checkers.table import CHECKERS
from linearizability.engine import exchange, spark, table
from linearizability.engine.session import SparkError, spark_session, stop_spark
from linearizability.judging import check
from linearizability.measures.summary import summarise
from linearizability.self_test.model.histories import joined, valid_rows
from linearizability.tests.huge import one_partition
from linearizability.tests.planted import write_planted
from linearizability.verdict import Validity

pytestmark = pytest.mark.needs("spark")

MASTER = "local[2]"


@pytest.fixture(scope="module", autouse=True)
def _session() -> Iterator[None]:
    spark_session(MASTER)
    yield
    stop_spark()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("planted") / "history.parquet"
    write_planted(file)
    return file


def test_spark_finds_what_polars_finds(planted: Path) -> None:
    by_polars = check(planted, engine="local")
    by_spark = check(planted, engine="spark", spark_master=MASTER)
    assert by_spark.engine == "spark local[2]"
    assert by_spark.checkers == by_polars.checkers
    assert all(c.validity is Validity.INVALID for c in by_spark.checkers.values())


def test_a_partition_too_large_for_one_executor_is_judged_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several tasks read it, and several judge it; what belongs together must come together again,
    in its order."""
    monkeypatch.setattr(exchange, "ROWS_PER_TASK", 4_000)
    monkeypatch.setattr(exchange, "LARGE_PARTITION_ROWS", 10_000)
    monkeypatch.setattr(table, "ROWS_PER_BUCKET", 5_000)
    file = tmp_path / "history.parquet"
    pq.write_table(one_partition().to_arrow(), file, row_group_size=1_500)
    assert len(exchange.Source.of(file).runs) > 4
    by_polars = check(file, engine="local")
    by_spark = check(file, engine="spark", spark_master=MASTER)
    assert by_spark.checkers == by_polars.checkers
    cut = {name for name, checker in CHECKERS.items() if checker.cut is not None}
    assert {name for name, _ in by_spark.anomalies} >= {"poll_skips", *cut}


def test_spark_judges_a_valid_run_directory_valid(tmp_path: Path) -> None:
    history.write(tmp_path / "history.parquet", joined(valid_rows(seed) for seed in range(20, 30)))
    verdict = check(tmp_path, spark_master=MASTER)
    assert verdict.engine == "spark local[2]"
    assert verdict.validity is Validity.VALID
    assert verdict.checkers == check(tmp_path, engine="local").checkers


def test_spark_reads_a_history_of_a_schema_that_lacked_columns(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    history.write(file, joined([valid_rows(3)]))
    older = pl.read_parquet(file).drop("group", "replica", "last_stable_offset", "leader_epoch")
    older.write_parquet(file)
    by_spark = check(file, engine="spark", spark_master=MASTER)
    assert by_spark.checkers == check(file, engine="local").checkers


def test_a_spark_job_that_dies_is_unknown_with_its_reason(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_resolve(*_: object) -> None:
        raise OSError("the worker was killed")

    monkeypatch.setattr(spark, "outcomes_of_transactions", broken_resolve)
    verdict = check(planted, engine="spark", spark_master=MASTER)
    assert verdict.validity is Validity.UNKNOWN
    assert {c.validity for c in verdict.checkers.values()} == {Validity.UNKNOWN}
    assert verdict.checkers["lost_writes"].reason == "Spark: the worker was killed"
    assert set(verdict.checkers) == set(CHECKERS)


def test_a_master_that_is_none_is_refused_in_one_sentence(planted: Path) -> None:
    with pytest.raises(SparkError, match=r"'yarn' must be local\[…\], spark://host"):
        check(planted, engine="spark", spark_master="yarn")
    spark_session(MASTER)


def test_both_engines_summarise_alike(planted: Path) -> None:
    by_polars = summarise(planted, engine="local")
    by_spark = summarise(planted, engine="spark", spark_master=MASTER)
    assert by_spark.engine == "spark local[2]"
    assert by_spark.seconds == by_polars.seconds
    assert_frame_equal(by_spark.series, by_polars.series)
    assert_frame_equal(by_spark.errors, by_polars.errors)
