"""Waiting in virtual time: order, time-outs, and what nobody would ever wake."""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Any

import pytest

from chaos.sim.tasks import CLEANUP_WAITS_MAX, Cancelled
from chaos.sim.world import VirtualWorld
from chaos.values.protocols import TargetError


def test_time_is_that_of_what_is_waited_for() -> None:
    world, seen = VirtualWorld(1), list[tuple[str, float]]()

    async def sleeper(name: str, seconds: float) -> None:
        await world.sleep(seconds)
        seen.append((name, world.monotonic()))

    async def work() -> None:
        await world.together(sleeper("late", 2.0), sleeper("early", 0.5), sleeper("between", 1.0))

    world.run(work())
    assert seen == [("early", 0.5), ("between", 1.0), ("late", 2.0)]


def test_a_flag_wakes_who_waits_and_times_out() -> None:
    world = VirtualWorld(1)
    flag = world.flag()

    async def setter() -> None:
        await world.sleep(3.0)
        flag.set()

    async def work() -> tuple[bool, float, bool, float]:
        task = world.spawn("setter", setter())
        first = await flag.wait(1.0), world.monotonic()
        second = await flag.wait(), world.monotonic()
        assert await task.join(0.0)
        return *first, *second

    assert world.run(work()) == (False, 1.0, True, 3.0)


def test_a_deadline_ends_the_work_and_all_that_it_has_begun_together() -> None:
    world, ended = VirtualWorld(1), list[str]()

    async def sleeper(name: str) -> None:
        try:
            await world.sleep(60.0)
        finally:
            ended.append(name)

    async def work() -> float:
        with pytest.raises(TimeoutError):
            await world.within(1.0, world.together(sleeper("a"), sleeper("b")))
        return world.monotonic()

    assert world.run(work()) == 1.0
    assert ended == ["a", "b"]


def test_an_error_of_a_task_is_raised_where_it_is_joined() -> None:
    world = VirtualWorld(1)

    async def fail() -> None:
        await world.sleep(0.1)
        raise ValueError("broken")

    async def work() -> bool:
        task = world.spawn("failing", fail())
        assert not await task.join(0.05)
        return await task.join(1.0)

    with pytest.raises(ValueError, match="broken"):
        world.run(work())


def test_the_clock_moves_while_somebody_waits_for_the_rest_of_a_time() -> None:
    world, turns = VirtualWorld(1), 0

    async def work() -> None:
        nonlocal turns
        deadline_s = world.monotonic() + 0.000_000_4
        while world.monotonic() < deadline_s and turns < 10:
            await world.sleep(deadline_s - world.monotonic())
            turns += 1

    world.run(work())
    assert turns == 1


def test_a_world_in_which_nothing_will_happen_says_so() -> None:
    world = VirtualWorld(1)

    async def work() -> None:
        await world.flag().wait()

    with pytest.raises(TargetError, match="no event is scheduled"):
        world.run(work())


def leave_tasks(ended: list[str]) -> None:
    """Run a world whose main coroutine is interrupted while tasks wait, or have not begun."""
    world = VirtualWorld(1)

    async def sleeper(name: str) -> None:
        try:
            await world.sleep(60.0)
        finally:
            try:
                await world.sleep(1.0)
            finally:
                world.spawn("never begun", sleeper("never begun"))
                ended.append(name)

    async def stubborn() -> None:
        while True:
            try:
                await world.sleep(60.0)
            except Cancelled:
                ended.append("again")

    async def work() -> None:
        world.spawn("a", sleeper("a"))
        world.spawn("b", sleeper("b"))
        world.spawn("stubborn", stubborn())
        await world.sleep(1.0)
        world.spawn("late", sleeper("late"))
        raise KeyboardInterrupt

    world.run(work())


def test_tasks_that_are_left_end_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # what earlier tests have left must not complain here
    ended, complaints = list[str](), list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt):
            leave_tasks(ended)
        gc.collect()
    assert ended == ["a", "b", *["again"] * CLEANUP_WAITS_MAX]
    assert [str(one.exc_value) for one in complaints] == []


def test_what_is_no_part_of_virtual_time_is_refused() -> None:
    world = VirtualWorld(1)

    class Foreign:
        def __await__(self) -> object:
            yield "asyncio would know"

    async def work() -> None:
        await Foreign()  # type: ignore[misc]

    with pytest.raises(RuntimeError, match="does not belong to virtual time"):
        world.run(work())
