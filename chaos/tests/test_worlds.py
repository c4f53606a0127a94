"""Every World keeps what chaos/world.py says."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import pytest

from chaos.means.real_world import RealWorld
from chaos.sim.world import VirtualWorld
from chaos.world import World

SOON_S, LATE_S = 0.05, 30.0


@pytest.fixture(params=[RealWorld, partial(VirtualWorld, 1)], ids=["real", "virtual"])
def world(request: pytest.FixtureRequest) -> World:
    made: World = request.param()
    return made


async def returned(world: World, value: int, after_s: float = 0.0) -> int:
    await world.sleep(after_s)
    return value


async def failed(world: World, error: Exception, after_s: float = 0.0) -> int:
    await world.sleep(after_s)
    raise error


def test_a_coroutine_runs_to_its_end_and_raises_what_it_raises(world: World) -> None:
    assert world.run(returned(world, 7)) == 7
    with pytest.raises(KeyError):
        world.run(failed(world, KeyError("gone")))


def test_awaiting_something_else_is_refused_and_the_coroutine_closed(world: World) -> None:
    class Elsewhere:
        def __await__(self) -> Generator[str, None, None]:
            yield "another loop"

    closed: list[bool] = []

    async def strays() -> None:
        try:
            await Elsewhere()
        finally:
            closed.append(True)

    with pytest.raises(
        RuntimeError, match=r"strays.* awaits 'another loop', which does not belong to"
    ):
        world.run(strays())
    assert closed == [True]


def test_clocks_go_on_while_it_sleeps(world: World) -> None:
    before = world.monotonic_ns(), world.wall_ns(), world.monotonic()
    world.run(world.sleep(0.02))
    assert world.monotonic_ns() - before[0] >= 20_000_000
    assert world.wall_ns() - before[1] >= 20_000_000
    assert world.monotonic() - before[2] >= 0.02


def test_a_flag_wakes_who_waits_and_times_out_unset(world: World) -> None:
    flag = world.flag()
    assert world.run(flag.wait(SOON_S)) is False
    task = world.spawn("waits", flag.wait())
    assert world.run(task.join(SOON_S)) is False
    flag.set()
    assert world.run(task.join(LATE_S)) is True
    assert flag.is_set() and world.run(flag.wait(0.0)) is True


def test_join_raises_what_the_task_raised(world: World) -> None:
    task = world.spawn("fails", failed(world, KeyError("gone")))
    with pytest.raises(KeyError, match="gone"):
        world.run(task.join(LATE_S))


def test_together_runs_at_once_and_returns_in_order(world: World) -> None:
    here = [world.flag() for _ in range(3)]

    async def meets(value: int) -> int:
        here[value].set()
        return value if all([await each.wait(LATE_S) for each in here]) else -1

    assert world.run(world.together(meets(0), meets(1), meets(2))) == [0, 1, 2]


def test_together_raises_the_first_error_after_all_have_ended(world: World) -> None:
    ended: list[str] = []

    async def slow() -> int:
        await world.sleep(SOON_S)
        ended.append("slow")
        return 1

    with pytest.raises(KeyError, match="first"):
        world.run(
            world.together(
                slow(), failed(world, KeyError("first")), failed(world, ValueError("second"))
            )
        )
    assert ended == ["slow"]


ENDLESS: dict[str, Callable[[World], Coroutine[Any, Any, object]]] = {
    "sleep": lambda world: world.sleep(LATE_S),
    "flag": lambda world: world.flag().wait(),
    "flag in time": lambda world: world.flag().wait(LATE_S),
    "task": lambda world: world.spawn("late", returned(world, 1, SOON_S * 20)).join(),
    "task with a time-out": lambda world: world.spawn(
        "sleeps", returned(world, 1, SOON_S * 20)
    ).join(LATE_S),
    "together": lambda world: world.together(returned(world, 1), returned(world, 2, LATE_S)),
    "within": lambda world: world.within(LATE_S, world.sleep(LATE_S)),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_within_ends_every_wait_and_cleans_up(world: World, kind: str) -> None:
    cleaned: list[bool] = []

    async def bounded() -> None:
        try:
            await ENDLESS[kind](world)
        finally:
            cleaned.append(True)

    began = world.monotonic()
    with pytest.raises(TimeoutError):
        world.run(world.within(SOON_S, bounded()))
    assert world.monotonic() - began < LATE_S / 2
    assert cleaned == [True]
    world.run(world.sleep(0.0))  # no deadline is left behind


def test_within_returns_in_time_and_a_coroutine_that_catches_it_gets_it_again(world: World) -> None:
    assert world.run(world.within(LATE_S, returned(world, 7))) == 7
    caught: list[int] = []

    async def stubborn() -> None:
        while len(caught) < 3:
            try:
                await world.sleep(LATE_S)
            except TimeoutError:
                caught.append(1)

    world.run(world.within(SOON_S, stubborn()))
    assert len(caught) == 3


def test_the_outer_deadline_holds_and_spawned_tasks_are_free_of_it(world: World) -> None:
    async def outer() -> bool:
        task = world.spawn("free", returned(world, 7, SOON_S * 3))
        with pytest.raises(TimeoutError):
            await world.within(LATE_S, world.sleep(LATE_S))
        tasks.append(task)
        return True

    tasks: list[Any] = []
    assert world.run(world.within(SOON_S, outer())) is True
    assert world.run(tasks[0].join(LATE_S)) is True
