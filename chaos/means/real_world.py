"""The World of threads, sockets and the machine's clocks: each of its awaits blocks its thread.

A coroutine over it never suspends, so that `run` drives it by a single step. `within` has no way to
break into a thread: it sets a deadline for the thread, at which every wait of this World raises
TimeoutError. Calls that block elsewhere (in a client library) do not notice the deadline.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from itertools import count
from typing import Any, TypeVar

from chaos.world import Address, Flag, Link, Task
from reference_impl.access import connect
from reference_impl.wire import (
    ApiKey,
    FrameReader,
    Malformed,
    Struct,
    decode_response,
    encode_request,
)

T = TypeVar("T")
CLIENT_ID = "touchstone-raw"
_READ_BYTES = 1 << 18
_LEAST_S = 0.001


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over a RealWorld. Return its result or raise its error. Raise RuntimeError if
    it suspends, which it does only if it awaits something outside of its World."""
    try:
        suspended_at = work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError(f"{work} awaits {suspended_at!r}, which does not belong to the real world")


class _Deadline(threading.local):
    """The earliest deadline of the `within` calls that the current thread is executing."""

    at: float | None = None

    def check(self) -> None:
        if self.at is not None and time.monotonic() >= self.at:
            raise TimeoutError("not done in time")

    def cut(self, timeout_s: float | None) -> float:
        """Return `timeout_s`, or the time left until the deadline if that is shorter. Raise
        TimeoutError if no time is left."""
        self.check()
        wanted_s = threading.TIMEOUT_MAX if timeout_s is None else max(0.0, timeout_s)
        return wanted_s if self.at is None else min(wanted_s, max(0.0, self.at - time.monotonic()))


_deadline = _Deadline()


class RealFlag:
    """An event that threads wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.set = self._event.set
        self.is_set = self._event.is_set

    async def wait(self, timeout_s: float | None = None) -> bool:
        if _deadline.at is None:
            return self._event.wait(timeout_s)
        is_set = self._event.wait(_deadline.cut(timeout_s))
        if not is_set:
            _deadline.check()
        return is_set


class RealTask:
    """A daemon thread that runs one coroutine, started when this object is made. deadline: the
    monotonic time after which waits in that thread raise TimeoutError, or None."""

    def __init__(
        self, name: str, work: Coroutine[Any, Any, object], deadline: float | None = None
    ) -> None:
        self.name = name
        self._work = work
        self._deadline = deadline
        self._raised: Exception | None = None
        self._result: Any = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        _deadline.at = self._deadline
        try:
            self._result = run(self._work)
        except Exception as error:
            self._raised = error

    async def join(self, timeout_s: float | None = None) -> bool:
        self._thread.join(_deadline.cut(timeout_s))
        if self._thread.is_alive():
            _deadline.check()
            return False
        self.outcome()
        return True

    def outcome(self) -> Any:
        """Wait until the task has ended, whatever deadline this thread has. Return its result or
        raise its error."""
        self._thread.join()
        if self._raised is not None:
            raise self._raised
        return self._result


class RealWorld:
    """The World of real time: it waits, reads clocks and opens connections by blocking the calling
    thread."""

    monotonic_ns = staticmethod(time.monotonic_ns)
    wall_ns = staticmethod(time.time_ns)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        time.sleep(_deadline.cut(seconds))
        _deadline.check()

    def flag(self) -> Flag:
        return RealFlag()

    def lock(self) -> AbstractContextManager[object]:
        return threading.Lock()

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> Task:
        return RealTask(name, work)

    async def together(self, *works: Coroutine[Any, Any, T]) -> list[T]:
        tasks = [RealTask("together", work, _deadline.at) for work in works]
        results: list[T] = []
        raised: list[Exception] = []
        for task in tasks:  # each has the caller's deadline
            try:
                results.append(task.outcome())
            except Exception as error:
                raised.append(error)
        if raised:
            raise raised[0]
        return results

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        outer = _deadline.at
        own = time.monotonic() + timeout_s
        _deadline.at = own if outer is None else min(own, outer)
        try:
            return await work
        finally:
            _deadline.at = outer

    async def dial(self, address: Address, timeout_s: float) -> Link:
        return TcpLink(address, timeout_s)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return run(work)


REAL_WORLD = RealWorld()
"""The only instance of RealWorld."""


class TcpLink:
    """One TCP connection to one broker, with TLS and SASL if the address has them. It is opened
    when this object is made, which raises OSError if that fails."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._correlation_ids = count(1)
        self._reader = FrameReader()
        try:
            self._socket = connect(address, max(_deadline.cut(timeout_s), _LEAST_S))
        except Malformed as error:
            raise OSError(str(error)) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def exchange(
        self, api: ApiKey, version: int, body: Struct, timeout_s: float | None = None
    ) -> Struct:
        """Send one request in this version and return the response. timeout_s: for the whole
        response, however slowly its bytes arrive; without it, the connection's own time-out applies
        to each read of the socket. Raise OSError if no response comes, or one with another
        correlation id, and Malformed if its bytes are not valid."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        correlation_id = next(self._correlation_ids)
        request = encode_request(api, version, correlation_id, CLIENT_ID, body)
        self._limit(deadline)
        self._socket.sendall(request)
        answered, answer = decode_response(self._next_frame(deadline), api, version)
        if answered != correlation_id:
            raise OSError("the response has another request's correlation id")
        return answer

    def _limit(self, deadline: float | None) -> None:
        left_s = self._timeout_s if deadline is None else deadline - time.monotonic()
        self._socket.settimeout(max(_deadline.cut(left_s), _LEAST_S))

    def _next_frame(self, deadline: float | None) -> bytearray:
        while True:
            self._limit(deadline)
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise OSError("the connection was closed")
            if frames := self._reader.feed(data):
                return frames[0]

    def close(self) -> None:
        self._socket.close()
