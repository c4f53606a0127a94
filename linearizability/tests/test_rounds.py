"""Batches of work in processes that are replaced: all are done, in order, also in many rounds."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import closing

import pytest

from linearizability.self_test.rounds import in_rounds


def told(batch: int) -> tuple[int, int]:
    return batch, os.getpid()


def slowly(batch: int) -> int:
    time.sleep(60 * batch)
    return batch


def failing(batch: int) -> int:
    raise ValueError(batch)


def test_all_batches_are_done_in_order_by_processes_that_are_replaced() -> None:
    """With `max_tasks_per_child` in place of rounds, this stands still on Python 3.11."""
    rounds = in_rounds(told, range(13), 2, of_a_process=3)
    results = [(batch, future.result()) for batch, future in rounds]
    assert [batch for batch, _ in results] == [number for _, (number, _) in results]
    assert len(results) == 13
    by_process = Counter(process for _, (_, process) in results)
    assert len(by_process) >= 3
    assert max(by_process.values()) <= 6


def test_who_ends_early_waits_for_nothing() -> None:
    with closing(in_rounds(slowly, range(4), 2, of_a_process=3)) as rounds:
        assert next(rounds)[1].result() == 0
        began = time.monotonic()
    assert time.monotonic() - began < 30


def test_an_error_reaches_the_one_who_asks() -> None:
    with closing(in_rounds(failing, range(2), 2, of_a_process=3)) as rounds:
        for _, future in rounds:
            with pytest.raises(ValueError):
                future.result()
