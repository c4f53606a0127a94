"""Timers that fall due together: others have their turn in between, and order and stops count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import chain

import pytest

from reference_impl.core.events import TimerKey
from reference_impl.host import timers
from reference_impl.host.timers import SLICE_S, Timers

MANY = 40


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timers, "time", clock)
    return clock


def fired_in_rounds(
    clock: Clock, cost_s: float, act: Callable[[Timers, TimerKey], None]
) -> list[list[TimerKey]]:
    """Let many timers fall due together, each of which costs so much to handle, and call `act`
    after each. Return what was fired in each round of the event loop."""
    rounds: list[list[TimerKey]] = [[]]

    async def run() -> None:
        def fire(key: TimerKey) -> None:
            rounds[-1].append(key)
            clock.now_s += cost_s
            act(running, key)

        running = Timers(fire)
        for number in range(MANY):
            running.set(("t", number), 0)
        for _ in range(4 * MANY):
            await asyncio.sleep(0)
            rounds.append([])
        running.close()

    asyncio.run(run())
    return [each for each in rounds if each]


@pytest.mark.parametrize("cost_s", [SLICE_S / 10, SLICE_S, 10 * SLICE_S])
def test_a_round_of_the_loop_fires_no_more_timers_than_a_slice_has_time_for(
    clock: Clock, cost_s: float
) -> None:
    rounds = fired_in_rounds(clock, cost_s, lambda *_: None)
    # A loop may run the callbacks of a round after its timers: then these are two slices.
    assert max(map(len, rounds)) <= 2 * max(1, SLICE_S / cost_s) + 1
    assert list(chain(*rounds)) == [("t", number) for number in range(MANY)]


def test_a_timer_that_is_stopped_or_set_again_while_it_is_due_is_not_fired_early(
    clock: Clock,
) -> None:
    def act(running: Timers, key: TimerKey) -> None:
        if key == ("t", 0):
            running.cancel(("t", 5))
            running.set(("t", 7), 3_600_000)

    fired = list(chain(*fired_in_rounds(clock, SLICE_S, act)))
    assert fired == [("t", number) for number in range(MANY) if number not in (5, 7)]


def test_a_timer_may_set_itself_again(clock: Clock) -> None:
    times = [0]

    def act(running: Timers, key: TimerKey) -> None:
        if key == ("t", 0) and times[0] < 3:
            times[0] += 1
            running.set(key, 0)

    fired = list(chain(*fired_in_rounds(clock, 0, act)))
    assert fired.count(("t", 0)) == 4
