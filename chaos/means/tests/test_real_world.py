"""The World of threads keeps what chaos/world.py says of every World."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import Any

import pytest

from chaos.means.real_world import RealWorld, run
from chaos.world import World
from reference_impl.wire import ApiKey, encode_response, request_definition, response_definition

SOON_S, LATE_S = 0.05, 30.0
WORLD: World = RealWorld()
API_VERSIONS = ApiKey.API_VERSIONS


async def returned(value: int, after_s: float = 0.0) -> int:
    await WORLD.sleep(after_s)
    return value


async def failed(error: Exception, after_s: float = 0.0) -> int:
    await WORLD.sleep(after_s)
    raise error


def test_a_coroutine_runs_to_its_end_and_raises_what_it_raises() -> None:
    assert WORLD.run(returned(7)) == 7
    with pytest.raises(KeyError):
        WORLD.run(failed(KeyError("gone")))


def test_awaiting_something_else_is_refused_and_the_coroutine_closed() -> None:
    class Elsewhere:
        def __await__(self) -> Generator[str, None, None]:
            yield "another loop"

    closed: list[bool] = []

    async def strays() -> None:
        try:
            await Elsewhere()
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match=r"strays.* awaits 'another loop'"):
        run(strays())
    assert closed == [True]


def test_clocks_go_on_while_it_sleeps() -> None:
    before = WORLD.monotonic_ns(), WORLD.wall_ns(), WORLD.monotonic()
    WORLD.run(WORLD.sleep(0.02))
    assert WORLD.monotonic_ns() - before[0] >= 20_000_000
    assert abs(WORLD.wall_ns() - time.time_ns()) < 10**9
    assert WORLD.monotonic() - before[2] >= 0.02


def test_a_flag_wakes_who_waits_and_times_out_unset() -> None:
    flag = WORLD.flag()
    assert run(flag.wait(SOON_S)) is False
    task = WORLD.spawn("waits", flag.wait())
    assert run(task.join(SOON_S)) is False
    flag.set()
    assert run(task.join(LATE_S)) is True
    assert flag.is_set() and run(flag.wait(0.0)) is True


def test_join_raises_what_the_task_raised() -> None:
    task = WORLD.spawn("fails", failed(KeyError("gone")))
    with pytest.raises(KeyError, match="gone"):
        run(task.join(LATE_S))


def test_together_runs_at_once_and_returns_in_order() -> None:
    barrier = threading.Barrier(3, timeout=LATE_S)

    async def meets(value: int) -> int:
        barrier.wait()  # passes only where all three run beside each other
        return value

    assert run(WORLD.together(meets(1), meets(2), meets(3))) == [1, 2, 3]


def test_together_raises_the_first_error_after_all_have_ended() -> None:
    ended: list[str] = []

    async def slow() -> int:
        await WORLD.sleep(SOON_S)
        ended.append("slow")
        return 1

    with pytest.raises(KeyError, match="first"):
        run(WORLD.together(slow(), failed(KeyError("first")), failed(ValueError("second"))))
    assert ended == ["slow"]


ENDLESS: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
    "sleep": lambda: WORLD.sleep(LATE_S),
    "flag": lambda: WORLD.flag().wait(),
    "flag with a time-out": lambda: WORLD.flag().wait(LATE_S),
    "task": lambda: WORLD.spawn("sleeps", returned(1, SOON_S * 20)).join(),
    "task with a time-out": lambda: WORLD.spawn("sleeps", returned(1, SOON_S * 20)).join(LATE_S),
    "together": lambda: WORLD.together(returned(1), returned(2, LATE_S)),
    "within": lambda: WORLD.within(LATE_S, WORLD.sleep(LATE_S)),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_within_ends_every_wait_and_cleans_up(kind: str) -> None:
    cleaned: list[bool] = []

    async def bounded() -> None:
        try:
            await ENDLESS[kind]()
        finally:
            cleaned.append(True)

    began = WORLD.monotonic()
    with pytest.raises(TimeoutError):
        run(WORLD.within(SOON_S, bounded()))
    assert WORLD.monotonic() - began < LATE_S / 2
    assert cleaned == [True]
    run(WORLD.sleep(0.0))  # no deadline is left behind


def test_within_returns_in_time_and_a_coroutine_that_catches_it_gets_it_again() -> None:
    assert run(WORLD.within(LATE_S, returned(7))) == 7
    caught: list[int] = []

    async def stubborn() -> None:
        while len(caught) < 3:
            try:
                await WORLD.sleep(LATE_S)
            except TimeoutError:
                caught.append(1)

    run(WORLD.within(SOON_S, stubborn()))
    assert len(caught) == 3


def test_the_outer_deadline_holds_within_a_longer_one_and_spawned_tasks_are_free_of_it() -> None:
    async def outer() -> bool:
        task = WORLD.spawn("free", returned(7, SOON_S * 3))
        with pytest.raises(TimeoutError):
            await WORLD.within(LATE_S, WORLD.sleep(LATE_S))
        tasks.append(task)
        return True

    tasks: list[Any] = []
    assert run(WORLD.within(SOON_S, outer())) is True
    assert run(tasks[0].join(LATE_S)) is True


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answer(server: socket.socket, correlation_id: int | None = 1) -> None:
    """Answer one ApiVersions of one connection; None: close instead."""
    connection, _ = server.accept()
    with connection:
        connection.recv(1 << 16)
        if correlation_id is not None:
            body = response_definition(API_VERSIONS).new()
            connection.sendall(encode_response(API_VERSIONS, 0, correlation_id, body))


@pytest.mark.parametrize("correlation_id", [1, 5, None])
def test_a_link_exchanges_or_says_why_not(
    listener: socket.socket, correlation_id: int | None
) -> None:
    server = threading.Thread(target=answer, args=(listener, correlation_id), daemon=True)
    server.start()

    async def ask() -> Any:
        link = await WORLD.dial(listener.getsockname(), LATE_S)
        try:
            return await link.exchange(API_VERSIONS, 0, request_definition(API_VERSIONS).new())
        finally:
            link.close()

    if correlation_id == 1:
        assert run(ask()).error_code == 0
    else:
        with pytest.raises(OSError, match=r"another request|was closed|reset"):
            run(ask())
    server.join(LATE_S)


def test_a_link_gives_up_at_the_time_out_and_at_the_deadline(listener: socket.socket) -> None:
    async def ask(timeout_s: float | None) -> None:
        link = await WORLD.dial(listener.getsockname(), LATE_S)
        try:
            request = request_definition(API_VERSIONS).new()
            await link.exchange(API_VERSIONS, 0, request, timeout_s)
        finally:
            link.close()

    began = WORLD.monotonic()
    with pytest.raises(OSError):
        run(ask(SOON_S))
    with pytest.raises(TimeoutError):
        run(WORLD.within(SOON_S, ask(None)))
    assert WORLD.monotonic() - began < LATE_S / 2


def test_nobody_to_dial_is_an_os_error(listener: socket.socket) -> None:
    address = listener.getsockname()
    listener.close()
    with pytest.raises(OSError):
        run(WORLD.dial(address, LATE_S))
