"""Jepsen's Kafka histories in a few words a line, for tests.

    [*ok(0, send(1, 100, 0)), *ok(9, poll(1, (0, 100)))]

Process 0 sent 100 to key 1, at offset 0; process 9 polled it. `ok`, `fail` and `info` are whole
operations; `begin` and `end` lie apart. An event's index is its place in the list, so is its time,
unless `at` sets the clock.
"""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]
Micro = list[Any]
SECOND = 1_000_000_000


def send(key: int | str, value: int, offset: int | None = None) -> Micro:
    return ["send", key, [offset, value]]


def poll(key: int | str = 1, *records: tuple[int, int], **others: Any) -> Micro:
    """others: further keys, `k2=[…]`."""
    given = {str(key): list(map(list, records))}
    given |= {name.removeprefix("k"): list(map(list, more)) for name, more in others.items()}
    return ["poll", given]


NOTHING: Micro = ["poll", {}]


def begin(process: int, *micro: Micro, f: str | None = None, **more: Any) -> list[Event]:
    """Return an invocation: sends without offsets, polls without records."""
    asked = [["poll"] if m[0] == "poll" else [*m[:2], m[2][1]] for m in micro]
    return [_event(process, "invoke", f or _f(micro), asked, more)]


def end(process: int, type: str, *micro: Micro, f: str | None = None, **more: Any) -> list[Event]:
    """Return a completion; without micro-operations it tells nothing."""
    return [_event(process, type, f or _f(micro), list(micro) or None, more)]


def ok(process: int, *micro: Micro, f: str | None = None, **more: Any) -> list[Event]:
    return begin(process, *micro, f=f, **more) + end(process, "ok", *micro, f=f, **more)


def fail(process: int, *micro: Micro, f: str | None = None, **more: Any) -> list[Event]:
    return begin(process, *micro, f=f, **more) + end(process, "fail", *micro, f=f, **more)


def info(process: int, *micro: Micro, f: str | None = None, **more: Any) -> list[Event]:
    return begin(process, *micro, f=f, **more) + end(process, "info", *micro, f=f, **more)


def txn(process: int, type: str, *micro: Micro, **more: Any) -> list[Event]:
    """Return a transaction, also of sends or polls alone."""
    return begin(process, *micro, f="txn", **more) + end(process, type, *micro, f="txn", **more)


def takes(f: str, process: int, *keys: int | str, type: str = "ok", **more: Any) -> list[Event]:
    keys_taken = list(keys)
    return [_event(process, t, f, keys_taken, more) for t in ("invoke", type)]


def assign(process: int, *keys: int | str, **more: Any) -> list[Event]:
    return takes("assign", process, *keys, **more)


def subscribe(process: int, *keys: int | str, **more: Any) -> list[Event]:
    return takes("subscribe", process, *keys, **more)


def crash(process: int) -> list[Event]:
    return [_event(process, t, "crash", None, {}) for t in ("invoke", "info")]


def nemesis(f: str) -> list[Event]:
    """Return a nemesis' action: asked for, and done."""
    return [{"process": "nemesis", "type": "info", "f": f, "value": None}] * 2


def at(seconds: float) -> list[Event]:
    """Set the time of the events that follow."""
    return [{"at": int(seconds * SECOND)}]


def events(history: list[Event]) -> list[Event]:
    """Numbered and timed."""
    numbered: list[Event] = []
    began = 0
    for event in history:
        if "at" in event:
            began = event["at"]
            continue
        index = len(numbered)
        numbered.append({"index": index, "time": began + index} | event)
    return numbered


def lines(history: list[Event]) -> str:
    """Return the history as a file has it."""
    return "".join(json.dumps(event) + "\n" for event in events(history))


def _event(process: int, type: str, f: str, value: Any, more: dict[str, Any]) -> Event:
    named = {name.replace("_", "-"): told for name, told in more.items()}
    return {"process": process, "type": type, "f": f, "value": value, **named}


def _f(micro: tuple[Micro, ...]) -> str:
    """Return Jepsen's name for an operation, by its parts."""
    kinds = {m[0] for m in micro}
    return kinds.pop() if len(kinds) == 1 else "txn"


TWO = [*ok(0, send(1, 100, 0)), *ok(0, send(1, 101, 1))]
THREE = [*TWO, *ok(0, send(1, 102, 2))]
FOUR = [*THREE, *ok(0, send(1, 103, 3))]
WHOLE = ok(9, poll(1, (0, 100), (1, 101), (2, 102)))
REBALANCED: dict[str, Any] = {"rebalance_log": [{"keys": [1]}]}
