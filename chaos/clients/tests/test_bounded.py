"""Test that calls into libraries that ignore their time-out are bounded."""

from __future__ import annotations

import threading

import pytest

from chaos.clients.bounded import within


def test_what_is_returned_is_returned_and_what_is_raised_is_raised() -> None:
    assert within(10.0, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(10.0, lambda: 1 // 0)


def test_a_call_that_hangs_is_left_behind() -> None:
    let_go = threading.Event()
    with pytest.raises(TimeoutError, match=r"not done within 0\.05 s"):
        within(0.05, let_go.wait)
    let_go.set()
