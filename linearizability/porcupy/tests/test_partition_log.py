"""Judging whole histories: the kernel's verdict, porcupine's second opinion, the drawing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from linearizability import history
from linearizability.porcupy import OperationsBuilder, check
from linearizability.porcupy.append_order import anomalies_with_offsets
from linearizability.porcupy.fast_log import check_log
from linearizability.porcupy.operations import Operations
from linearizability.porcupy.partition_log import judge_partition_logs
from linearizability.porcupy.tests.logs import toy_history
from linearizability.porcupy.windows import TILE_APPENDS, faults, logs_of, tiles, window
from linearizability.verdict import Validity


def _orderly(count: int, **other: Any) -> list[dict[str, Any]]:
    """Return records sent one after the other, each read at once; offsets have holes."""
    rows = []
    for n in range(count):
        base = {"topic": "t", "partition": 0, "offset": 2 * n, "value": n} | other
        times = {"t_invoke_ns": n * 100, "t_complete_ns": n * 100 + 150}
        rows.append({"f": "send", "acks": -1, "op_id": 2 * n} | base | times)
        rows.append({"f": "poll", "op_id": 2 * n + 1} | base | times)
    return rows


def _broken(count: int, **other: Any) -> list[dict[str, Any]]:
    """Return such records, of which the middle one is sent long after its neighbours."""
    rows = _orderly(count, **other)
    rows[count]["t_invoke_ns"] += 5_000
    rows[count]["t_complete_ns"] += 5_000
    return rows


def _nemesis(at: int, fault: dict[str, Any]) -> dict[str, Any]:
    return {
        "f": "nemesis",
        "process": -1,
        "op_id": 10**6 + at,
        "detail": json.dumps(fault),
        "t_invoke_ns": at,
        "t_complete_ns": at + 10,
    }


@pytest.mark.needs("porcupine")
def test_an_orderly_partition_is_valid_and_searched_whole() -> None:
    count = 3 * TILE_APPENDS
    (result,) = judge_partition_logs(history.frame(_orderly(count)).lazy())
    assert (result.verdict, result.porcupine) == (Validity.VALID, Validity.VALID)
    assert (result.appends, result.searched) == (count, 2 * count)
    assert result.reason is None


@pytest.mark.needs("porcupine")
def test_a_broken_partition_is_confirmed_and_its_window_drawn(tmp_path: Path) -> None:
    rows = [
        *_broken(300),
        *_orderly(300, topic="fine"),
        _nemesis(14_000, {"fault": "Kill", "node": 2}),
        _nemesis(16_000, {"fault": "Heal"}),
    ]
    broken, fine = sorted(
        judge_partition_logs(history.frame(rows).lazy(), html_dir=tmp_path),
        key=lambda result: result.verdict,
    )
    assert (fine.verdict, fine.topic, fine.html) == (Validity.VALID, "fine", None)
    assert (broken.verdict, broken.porcupine) == (Validity.INVALID, Validity.INVALID)
    assert broken.html is not None and broken.html.parent == tmp_path
    page = broken.html.read_text()
    for op_id in broken.anomalies[0].operations:
        assert f"op {op_id}: " in page
    assert "Kill node=2" in page
    assert "op 2: " not in page  # far away from the contradiction
    assert 2 < broken.searched <= 100


@pytest.mark.needs("porcupine")
def test_operations_of_very_many_records_do_not_crowd_the_contradiction_out() -> None:
    rows: list[dict[str, Any]] = []
    for op_id, first, at in ((1, 300, 0), (2, 0, 1_000)):
        for n in range(300):
            times = {"t_invoke_ns": at, "t_complete_ns": at + 10}
            place = {"topic": "t", "partition": 0, "offset": first + n, "value": first + n}
            sent = {"f": "send", "acks": -1, "op_id": op_id, "record_index": n}
            rows.append(sent | place | times)
    (result,) = judge_partition_logs(history.frame(rows).lazy())
    assert (result.verdict, result.porcupine) == (Validity.INVALID, Validity.INVALID)
    assert result.anomaly_count == 300


@pytest.mark.needs("porcupine")
def test_many_polls_at_once_do_not_keep_porcupine_from_an_answer(tmp_path: Path) -> None:
    rows = _broken(100)
    for n in range(60):
        times = {"t_invoke_ns": 4_000 + n, "t_complete_ns": 12_000 + n}
        poll = {"f": "poll", "topic": "t", "partition": 0, "offset": 2 * n, "value": n}
        rows.append({"op_id": 1_000 + n, "process": n} | poll | times)
    frame = history.frame(rows).lazy()
    (result,) = judge_partition_logs(frame, html_dir=tmp_path, timeout_s=120)
    assert (result.verdict, result.porcupine) == (Validity.INVALID, Validity.INVALID)
    assert result.html is not None


def test_without_confirmation_only_the_kernel_judges() -> None:
    frame = history.frame([*_broken(50), *_orderly(50, topic="fine")]).lazy()
    results = {r.topic: r for r in judge_partition_logs(frame, confirm=False)}
    assert results["t"].verdict is Validity.INVALID
    assert results["fine"].verdict is Validity.VALID
    assert {r.porcupine for r in results.values()} == {Validity.NOT_APPLICABLE}


def test_a_history_without_appends_gives_no_results() -> None:
    assert judge_partition_logs(pl.DataFrame(schema=history.SCHEMA).lazy()) == []


def test_without_the_executable_the_kernels_verdict_stands_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOUCHSTONE_PORCUPINE", "nowhere/porcupine-check")
    frame = history.frame([*_broken(50), *_orderly(50, topic="fine")]).lazy()
    results = {r.topic: r for r in judge_partition_logs(frame)}
    assert results["t"].verdict is Validity.INVALID
    assert results["fine"].verdict is Validity.VALID
    for result in results.values():
        assert result.porcupine is Validity.UNKNOWN
        assert "missing" in (result.reason or "")


@pytest.mark.needs("porcupine")
def test_every_anomaly_of_the_kernel_is_confirmed_by_its_window() -> None:
    damaged = pl.concat([toy_history(f"damaged {n}", 40 + n, damage=6) for n in range(80)]).lazy()
    logs = logs_of(damaged)
    found = anomalies_with_offsets(damaged).collect()
    assert len(found) > 100
    found = found.join(logs.partitions, on="place")
    windows = [
        window(logs, row["pid"], row["offset"], row["op_ids"])
        for row in found.iter_rows(named=True)
    ]
    answer = check("partition_log", _side_by_side(windows))
    assert {part.verdict for part in answer.partitions} == {Validity.INVALID}
    assert len(answer.partitions) == len(windows)


@pytest.mark.needs("porcupine")
def test_partitions_that_the_kernel_passes_are_passed_by_porcupine_and_the_fast_checker() -> None:
    """Those it accuses are refuted by both. Where one offset is given twice, the windows keep one
    of the two, and the kernel may know more."""
    frame = pl.concat([toy_history(f"mixed {n}", 30 + n, damage=n % 3) for n in range(150)]).lazy()
    logs = logs_of(frame)
    operations, pid_of_key = tiles(logs, 10**6)
    accused = anomalies_with_offsets(frame).collect().join(logs.partitions, on="place")
    twice = logs.appends.group_by("pid", "offset").len().filter(pl.col("len") > 1)
    unclear = set(twice["pid"])
    searched = {
        pid_of_key[part.key]
        for part in check("partition_log", operations).partitions
        if part.verdict is Validity.INVALID
    }
    fast = {
        pid_of_key[part.key] for part in check_log(operations) if part.verdict is Validity.INVALID
    }
    assert fast == searched
    assert searched - unclear == set(accused["pid"]) - unclear
    assert len(searched - unclear) > 20
    assert len(set(pid_of_key) - searched) > 20


def test_bands_last_until_the_next_heal() -> None:
    rows = [
        _nemesis(10, {"fault": "Kill", "node": 1}),
        _nemesis(20, {"fault": "Pause", "node": "leader"}),
        _nemesis(40, {"fault": "Heal"}),
        _nemesis(60, {"fault": "Kill", "node": 3}),
    ]
    bands = [(b.start, b.description) for b in faults(history.frame(rows).lazy())]
    assert bands == [(10, "Kill node=1"), (20, "Pause node=leader"), (60, "Kill node=3")]
    ends = [b.end for b in faults(history.frame(rows).lazy())]
    assert ends[:2] == [50, 50] and ends[2] > 10**15


def _side_by_side(windows: list[Operations]) -> Operations:
    builder = OperationsBuilder()
    for key, operations in enumerate(windows):
        times = zip(operations.call.tolist(), operations.ret.tolist(), strict=True)
        for (call, end), op in zip(times, operations.rows(), strict=True):
            builder.add(call, end, op.kind, key=key, a=op.a, b=op.b, c=op.c, vals=op.vals)
    return builder.build()
