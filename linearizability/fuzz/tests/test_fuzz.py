"""A slice of the fuzz, and whether it would see a reader that keeps half a history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest import mock

import polars as pl
import pytest

from linearizability.fuzz import runner, tables
from linearizability.fuzz.runner import Fuzz, run_fuzz
from linearizability.history import SCHEMA
from linearizability.importers import events, jepsen, jsonl
from linearizability.self_test.model.histories import joined, valid_rows
from linearizability.verdict import Validity

SEEDS = range(90)
TEXTS = [seed for seed in range(150) if seed % 3]


def problems(seeds: Iterable[int] = TEXTS) -> str:
    """Return the problems of the files with these seeds. The files are not judged, since that takes
    most of the time."""
    with mock.patch.object(runner, "_judge"):
        return "\n".join(run_fuzz(seeds).problems)


def test_a_slice_of_the_fuzz() -> None:
    seen: list[int] = []
    found = run_fuzz(SEEDS, seen.append)
    assert found.problems == []
    assert found.validity is Validity.VALID
    assert seen[-1] == found.files == len(SEEDS)


@pytest.mark.parametrize("name", list(SCHEMA))
def test_any_column_can_be_given_any_type(name: str) -> None:
    rows = joined([valid_rows(1, tables.TURNS)])
    for other in tables.OTHER_TYPES:
        assert tables.retyped(rows, name, other).schema[name] == other


@pytest.mark.parametrize("seed", [14800, 18374, 19019])
def test_a_process_that_invokes_again_is_refused_however_the_lines_are_read(seed: int) -> None:
    assert run_fuzz([seed]).problems == []


def test_a_reader_that_leaves_out_what_it_does_not_know_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "_check_client", lambda *_: None)
    assert "was accepted although it is incomplete" in problems()


def test_a_reader_that_keeps_one_of_two_keys_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "checked_again", lambda *_: None)
    monkeypatch.setattr(events, "checked_again", lambda *_: None)
    assert "a key twice): the file was accepted" in problems()


def test_a_reader_that_loses_records_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jepsen.read
    monkeypatch.setattr(jepsen, "read", lambda path: whole(path).filter(pl.col("offset") != 1))
    assert "the file contains" in problems()


def test_an_error_that_is_no_sentence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_path: Any) -> pl.DataFrame:
        raise KeyError("f")

    monkeypatch.setattr(jepsen, "read", read)
    assert "KeyError: 'f'" in problems(range(9))


def test_a_reader_that_never_ends_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_path: Any) -> pl.DataFrame:
        while True:
            pass

    monkeypatch.setattr(jepsen, "read", read)
    monkeypatch.setattr(runner, "CPU_S", 0.2)
    assert "took more than" in problems([1])


def test_a_fuzz_in_which_nothing_was_judged_is_not_green() -> None:
    found = Fuzz()
    found.refused.update({"edn": 3, "jsonl": 3, "parquet": 3})
    assert found.validity is Validity.UNKNOWN
