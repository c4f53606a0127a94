"""judging: engines, merging, bad input, results for people."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import linearizability
from linearizability import history
from linearizability.checkers.table import CHECKERS
from linearizability.guarantees.lost_writes.rule import LostWrites
from linearizability.hand_written.rows import P, S
from linearizability.history import HistoryError, frame
from linearizability.judging import (
    check,
    check_frame,
    checkers_to_pandas,
    chosen_engine,
    confirm_with_porcupine,
    disagreement,
    to_pandas,
    write_verdict,
)
from linearizability.verdict import Validity, Verdict

GOOD = [S(1, 0), S(2, 1), P(1, 0), P(2, 1)]
LOST = [S(1, 0), S(2, 1), P(2, 1)]


def written(directory: Path, rows: list[dict[str, object]]) -> Path:
    history.write(directory / "history.parquet", frame(rows))
    return directory


def test_a_valid_run_is_valid(tmp_path: Path) -> None:
    verdict = check(written(tmp_path, GOOD), engine="local")
    assert (verdict.validity, verdict.exit_status) == (Validity.VALID, 0)
    assert verdict.engine == "local (polars)"
    assert list(verdict.checkers) == list(CHECKERS)


def test_an_invalid_run_is_invalid(tmp_path: Path) -> None:
    verdict = check(written(tmp_path, LOST) / "history.parquet")
    assert (verdict.validity, verdict.exit_status) == (Validity.INVALID, 1)
    assert verdict.reason == "invalid: lost_writes"


def test_an_empty_history_is_unknown() -> None:
    assert check_frame(frame([])).validity is Validity.UNKNOWN


def test_a_named_checker_that_judged_nothing_makes_the_run_unknown() -> None:
    verdict = check_frame(frame([S(1, 0), P(1, 0)]), named_by_workload=["aborted_reads"])
    assert verdict.validity is Validity.VALID  # a read_committed read was judged
    rows = [S(1, 0, isolation=None), P(1, 0, isolation=None)]
    verdict = check_frame(frame(rows), named_by_workload=["aborted_reads"])
    assert verdict.validity is Validity.UNKNOWN
    assert "aborted_reads" in str(verdict.reason)


def test_a_checker_that_crashes_is_unknown_not_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> pl.LazyFrame:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(LostWrites, "anomalies", crash)
    verdict = check_frame(frame(GOOD))
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.checkers["lost_writes"].validity is Validity.UNKNOWN
    assert verdict.checkers["lost_writes"].reason == "ZeroDivisionError: a bug of ours"
    assert verdict.checkers["poll_order"].validity is Validity.VALID


def test_a_checker_that_found_nothing_to_judge_is_not_applicable() -> None:
    """A run of a moment says nothing of readers who wait for a minute."""
    stale = check_frame(frame(GOOD)).checkers["stale_reads"]
    assert (stale.validity, stale.checked) == (Validity.NOT_APPLICABLE, 0)
    assert stale.reason == "nothing to judge"


@pytest.mark.parametrize(("judged", "validity"), [(0, Validity.UNKNOWN), (2, Validity.VALID)])
def test_what_was_excused_is_counted(
    monkeypatch: pytest.MonkeyPatch, judged: int, validity: Validity
) -> None:
    monkeypatch.setattr(LostWrites, "checked", lambda *_: pl.LazyFrame({"checked": [judged]}))
    monkeypatch.setattr(LostWrites, "excused", lambda *_: pl.LazyFrame({"checked": [3]}))
    monkeypatch.setattr(LostWrites, "excuse", "nobody knows")
    verdict = check_frame(frame(GOOD))
    lost = verdict.checkers["lost_writes"]
    assert (verdict.validity, lost.validity, lost.excused) == (validity, validity, 3)
    assert str(lost.reason).endswith("3 left out: nobody knows")


def test_many_anomalies_are_cut_and_counted() -> None:
    rows = [S(n, n) for n in range(300)] + [S(999, 300), P(999, 300)]
    lost = check_frame(frame(rows)).checkers["lost_writes"]
    assert lost.anomaly_count == 300
    assert len(lost.anomalies) == 100


def test_the_engine_is_chosen_by_what_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = written(tmp_path, GOOD)
    monkeypatch.setattr("linearizability.judging.has_spark", lambda: True)
    assert chosen_engine(run, "auto") == chosen_engine(run, "local") == "local"
    assert chosen_engine(run, "spark") == chosen_engine(run, "auto", "spark://host:7077") == "spark"
    monkeypatch.setattr("linearizability.judging.LARGE_ROWS", 1)
    assert chosen_engine(run, "auto") == "spark"
    monkeypatch.setattr("linearizability.judging.has_spark", lambda: False)
    assert chosen_engine(run, "auto") == "local"
    with pytest.raises(HistoryError, match="engine 'fast' is not one of auto, local, spark"):
        chosen_engine(run, "fast")


def test_a_small_run_starts_no_java(tmp_path: Path) -> None:
    """Neither a run directory nor a history file starts Java; Spark is not even imported."""
    run = written(tmp_path, GOOD)
    program = (
        "import sys, linearizability\n"
        "engines = {linearizability.check(path).engine for path in sys.argv[1:]}\n"
        "print(engines, 'pyspark' in sys.modules)\n"
    )
    asked = [sys.executable, "-c", program, str(tmp_path), str(history.history_file(run))]
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert said.stdout == "{'local (polars)'} False\n"


def test_engines_that_disagree_are_named_with_what_each_said(tmp_path: Path) -> None:
    good, lost = check(written(tmp_path, GOOD)), check(written(tmp_path, LOST))
    assert disagreement(good, good) is None
    differ = disagreement(good, replace(lost, engine="Spark"))
    assert differ is not None
    assert differ.validity is Validity.UNKNOWN
    assert "lost_writes: valid (" in str(differ.reason)
    assert "by local (polars), invalid (" in str(differ.reason)
    assert "by Spark" in str(differ.reason)


def test_bad_input_is_named_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no such history"):
        check(tmp_path, engine="local")
    file = written(tmp_path, GOOD) / "history.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HistoryError, match="not a complete Parquet file"):
        check(tmp_path, engine="local")
    frame(GOOD).drop("op_id").write_parquet(file)
    with pytest.raises(HistoryError, match="column 'op_id' is missing"):
        check(tmp_path, engine="local")
    frame(GOOD).with_columns(f=pl.lit("dance")).write_parquet(file)
    with pytest.raises(HistoryError, match="row 0: column 'f' is not one of"):
        check(tmp_path, engine="local")


def test_a_verdict_is_written_and_read_again(tmp_path: Path) -> None:
    verdict = check(written(tmp_path, LOST), engine="local")
    file = write_verdict(tmp_path, verdict)
    assert Verdict.from_dict(json.loads(file.read_text())) == verdict
    (lost,) = pl.read_parquet(tmp_path / "anomalies.parquet").rows(named=True)
    assert (lost["checker"], lost["kind"], lost["operations"]) == (
        "lost_writes",
        "lost-write",
        [0, 2],
    )
    assert json.loads(lost["scope"])["partition"] == 0
    write_verdict(tmp_path, check_frame(frame(GOOD)))
    assert pl.read_parquet(tmp_path / "anomalies.parquet").is_empty()


def test_people_get_pandas_frames(tmp_path: Path) -> None:
    verdict = check(written(tmp_path, LOST), engine="local")
    anomalies = to_pandas(verdict)
    assert list(anomalies["kind"]) == ["lost-write"]
    assert list(anomalies["operations"]) == [[0, 2]]
    table = checkers_to_pandas(verdict).set_index("checker")
    assert table.loc["lost_writes", "validity"] == "invalid"
    assert len(to_pandas(check_frame(frame(GOOD)))) == 0


def test_the_package_judges_and_gives_frames(tmp_path: Path) -> None:
    verdict = linearizability.check(str(written(tmp_path, LOST) / "history.parquet"))
    assert verdict.validity is linearizability.Validity.INVALID
    found = linearizability.to_pandas(verdict)
    assert dict(found.groupby(["checker", "kind"]).size()) == {("lost_writes", "lost-write"): 1}
    counts = linearizability.checkers_to_pandas(verdict).set_index("checker")
    assert counts["checked"]["lost_writes"] == 2
    assert counts["anomaly_count"]["lost_writes"] == 1
    with pytest.raises(linearizability.HistoryError, match="no such history"):
        linearizability.check(tmp_path / "absent.parquet")
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        linearizability.chekc  # noqa: B018


def test_the_package_can_be_imported_where_nothing_is_installed() -> None:
    code = (
        "import sys; sys.modules['polars'] = sys.modules['pyarrow'] = None; "
        "from linearizability.engine import probe; print(probe.lacking(0))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout)[2] == ["polars", "pyarrow"]


@pytest.mark.needs("porcupine")
def test_porcupine_confirms_and_draws(tmp_path: Path) -> None:
    good = confirm_with_porcupine(written(tmp_path, GOOD))
    assert good is not None
    assert good.validity is Validity.VALID
    assert good.checked > 0
    assert not (tmp_path / "porcupine").exists()
    bad = confirm_with_porcupine(written(tmp_path, [S(1, 5), S(2, 4)]))
    assert bad is not None
    assert bad.validity is Validity.INVALID
    drawing = tmp_path / "porcupine" / "append_order-t-0.html"
    assert bad.reason == "drawn: porcupine/append_order-t-0.html"
    assert drawing.exists()


def test_porcupine_not_built_is_no_opinion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHSTONE_PORCUPINE", str(tmp_path / "absent"))
    assert confirm_with_porcupine(written(tmp_path, GOOD)) is None
