"""The event loop polls only while requests follow answers closely."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from reference_impl.host.tcp.busy_poll import POLL_S, BusyPoll

STEP_S = POLL_S / 10


class Loop:
    """An event loop whose rounds take STEP_S each; it counts those that need not sleep."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def rounds_until_sleep(self) -> int:
        """Run until nothing is to be done, and return the number of rounds."""
        rounds = 0
        while self.soon:
            self.now_s += STEP_S
            due, self.soon = self.soon, []
            for callback in due:
                callback()
            rounds += 1
        return rounds


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr("time.monotonic", lambda: made.now_s)
    return made


def polling(loop: Loop) -> BusyPoll:
    """Return a BusyPoll that has answered one request."""
    poll = BusyPoll(cast(asyncio.AbstractEventLoop, loop))
    poll.arrived()
    poll.answered()
    return poll


def test_the_first_request_makes_nobody_poll(loop: Loop) -> None:
    polling(loop)
    assert loop.rounds_until_sleep() == 0


def test_a_request_right_after_an_answer_makes_the_loop_poll_for_a_while(loop: Loop) -> None:
    poll = polling(loop)
    loop.now_s += POLL_S / 2
    poll.arrived()
    poll.answered()
    assert 9 <= loop.rounds_until_sleep() <= 11


def test_a_poll_in_vain_is_the_last_until_requests_are_close_again(loop: Loop) -> None:
    poll = polling(loop)
    loop.now_s += POLL_S / 2
    poll.arrived()
    poll.answered()
    loop.rounds_until_sleep()
    for _ in range(3):
        loop.now_s += 2 * POLL_S
        poll.arrived()
        poll.answered()
        assert loop.rounds_until_sleep() == 0


def test_answers_during_a_poll_prolong_it_and_start_no_second(loop: Loop) -> None:
    poll = polling(loop)
    for _ in range(5):
        loop.now_s += STEP_S
        poll.arrived()
        poll.answered()
        assert len(loop.soon) == 1
