"""Make small Jepsen histories, and spoil single events in them.

Each spoiler returns whether the file must be refused because of its change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

Event = dict[str, Any]
CLIENTS = ("send", "poll", "txn")
KEYS: tuple[Any, ...] = (0, 1, 7, "orders", "t-0", 2**40)
DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]
NASTY: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "nemesis",
    "0",
    "\ud800",
    "\0",
    "é" * 300,
    0,
    -1,
    5,
    2**31,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    10**400,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    [],
    [[]],
    {},
    {"": []},
    {"1": [[0, 1]]},
    ["send", 1, 2],
    [["send", 1, 2]],
    ["poll"],
    [["poll", {"1": [[0, 1]]}]],
    DEEP,
)


def history(rng: Random) -> list[Event]:
    """Return the events of a small random Jepsen history with few errors in it."""
    return _Cluster(rng).events(rng.randint(3, 25))


class _Cluster:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.logs: dict[Any, list[list[int]]] = defaultdict(list)
        self.positions: dict[tuple[int, Any], int] = defaultdict(int)
        self.values = 0

    def events(self, operations: int) -> list[Event]:
        rng = self.rng
        made: list[Event] = []
        pending: dict[int, Event] = {}
        for _ in range(operations):
            process = rng.randrange(4)
            if rng.random() < 0.1:
                made += [{"process": "nemesis", "type": "info", "f": "kill", "value": None}] * 2
            if process in pending:
                made.append(self._completed(pending.pop(process)))
            asked = self._asked(process)
            pending[process] = asked
            made.append(asked)
        for asked in pending.values():
            if rng.random() < 0.8:
                made.append(self._completed(asked))
        now = 0
        with_index, with_time = rng.random() < 0.8, rng.random() < 0.8
        for index, event in enumerate(made):
            now += rng.choice((0, 1, 1_000_000))
            numbers = ({"index": index} if with_index else {}) | (
                {"time": now} if with_time else {}
            )
            made[index] = numbers | event
        return made

    def _asked(self, process: int) -> Event:
        rng = self.rng
        event: Event = {"process": process, "type": "invoke"}
        if rng.random() < 0.15:
            keys = rng.sample(KEYS, rng.randint(1, 3))
            return event | {"f": rng.choice(("assign", "subscribe", "crash")), "value": keys}
        micro: list[Any] = []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.5:
                self.values += 1
                micro.append(["send", rng.choice(KEYS), self.values])
            else:
                micro.append(["poll"])
        kinds = {one[0] for one in micro}
        return event | {"f": kinds.pop() if len(kinds) == 1 else "txn", "value": micro}

    def _completed(self, asked: Event) -> Event:
        kind = self.rng.choice(("ok", "ok", "ok", "info", "fail"))
        event = asked | {"type": kind}
        if asked["f"] not in CLIENTS:
            return event | ({"type": "info"} if asked["f"] == "crash" else {})
        if kind != "ok" and self.rng.random() < 0.5:
            return event | {"value": None}
        done = [self._done(one, asked["process"], kind) for one in asked["value"]]
        return event | {"value": done}

    def _done(self, micro: list[Any], process: int, kind: str) -> list[Any]:
        if micro[0] == "send":
            _, key, value = micro
            if kind == "fail":
                return ["send", key, value]
            log = self.logs[key]
            offset = log[-1][0] + self.rng.choice((1, 2)) if log else 0
            log.append([offset, value])
            return ["send", key, [offset, value]]
        found = {}
        for key in self.rng.sample(KEYS, 2):
            if new := self.logs[key][self.positions[process, key] :]:
                found[str(key)] = deepcopy(new)
                if kind == "ok":
                    self.positions[process, key] += len(new)
        return ["poll", found]


Spoiler = Callable[[list[Event], Random], bool | None]
"""A function that spoils the events in place. It returns True if the file must then be refused,
False if it need not be, and None if there was nothing to spoil."""


def _clients(events: list[Event]) -> list[int]:
    """Return the positions, in the list, of the events of clients' sends, polls and
    transactions."""
    return [n for n, e in enumerate(events) if isinstance(e["process"], int) and e["f"] in CLIENTS]


def _completions(events: list[Event]) -> list[int]:
    return [n for n in _clients(events) if events[n]["type"] == "ok" and events[n]["value"]]


def _one(places: list[int], rng: Random) -> int | None:
    return rng.choice(places) if places else None


def drop(events: list[Event], rng: Random) -> bool | None:
    if not events:
        return None
    del events[rng.randrange(len(events))]
    return not events


def drop_an_invocation(events: list[Event], rng: Random) -> bool | None:
    ended = _one([n for n, e in enumerate(events) if e["type"] in ("ok", "fail")], rng)
    if ended is None:
        return None
    process = events[ended]["process"]
    while events[ended]["process"] != process or events[ended]["type"] != "invoke":
        ended -= 1
    del events[ended]
    return True


def repeat(events: list[Event], rng: Random) -> bool | None:
    place = _one(list(range(len(events))), rng)
    if place is None:
        return None
    events.insert(rng.randrange(len(events) + 1), deepcopy(events[place]))
    return "index" in events[0]


def swap(events: list[Event], rng: Random) -> bool | None:
    if len(events) < 2:
        return None
    one, other = rng.sample(range(len(events)), 2)
    events[one], events[other] = events[other], events[one]
    return "index" in events[0]


def set_a_field(events: list[Event], rng: Random) -> bool | None:
    event = rng.choice(events)
    event[rng.choice(("index", "time", "process", "type", "f", "value", "final"))] = deepcopy(
        rng.choice(NASTY)
    )
    return False


def lose_a_field(events: list[Event], rng: Random) -> bool | None:
    event = rng.choice(events)
    field = rng.choice(sorted(event))
    del event[field]
    return field in ("process", "type", "f") or (field in ("index", "time") and len(events) > 1)


def spoil_within_a_value(events: list[Event], rng: Random) -> bool | None:
    """Replace a part of a value by something malformed, add such a part, or remove a part. Return
    False, or None if no event has a value or the part is empty."""
    place = _one([n for n in _clients(events) if events[n]["value"]], rng)
    if place is None:
        return None
    inside: Any = events[place]["value"]
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            return None
        key = rng.choice(keys)
        if isinstance(inside[key], list | dict) and inside[key] and rng.random() < 0.7:
            inside = inside[key]
            continue
        if rng.random() < 0.6:
            inside[key] = deepcopy(rng.choice(NASTY))
        elif isinstance(inside, list) and rng.random() < 0.5:
            inside.insert(key, deepcopy(rng.choice(NASTY)))
        else:
            del inside[key]
        return False


def name_a_process(events: list[Event], rng: Random) -> bool | None:
    place = _one(_clients(events), rng)
    if place is None:
        return None
    events[place]["process"] = rng.choice(("0", "client", "nemesis", ""))
    return True


def rename_an_operation(events: list[Event], rng: Random) -> bool | None:
    place = _one([n for n in _clients(events) if events[n]["value"]], rng)
    if place is None:
        return None
    events[place]["f"] = rng.choice(("produce", "Send", "append", "crash", ""))
    return True


def send_another_value(events: list[Event], rng: Random) -> bool | None:
    """Change a sent record in an ok completion, so that it has another value or key than its
    invocation. Return True, or None if there is no such record."""
    sends = [m for n in _completions(events) for m in events[n]["value"] if m[0] == "send"]
    if not sends:
        return None
    sent = rng.choice(sends)
    if rng.random() < 0.5:
        sent[2][1] += 1_000_000
    else:
        sent[1] = "elsewhere"
    return True


def lose_a_micro_operation(events: list[Event], rng: Random) -> bool | None:
    place = _one(_completions(events), rng)
    if place is None:
        return None
    value = events[place]["value"]
    del value[rng.randrange(len(value))]
    return True


def lose_an_answer(events: list[Event], rng: Random) -> bool | None:
    """Remove the received records from the completion of an ok poll. Return True, or None if there
    is no such poll."""
    polls = [m for n in _completions(events) for m in events[n]["value"] if m[0] == "poll"]
    if not polls:
        return None
    del rng.choice(polls)[1]
    return True


def change_a_number(events: list[Event], rng: Random) -> bool | None:
    """Change a polled offset or value of an ok completion; the judged rows must show the change.
    Return False, or None if no record was polled."""
    records = [
        record
        for n in _completions(events)
        for m in events[n]["value"]
        if m[0] == "poll"
        for some in m[1].values()
        for record in some
    ]
    if not records:
        return None
    rng.choice(records)[rng.randrange(2)] += rng.choice((1, 10**6))
    return False


SPOILERS: Mapping[str, Spoiler] = {
    spoil.__name__: spoil
    for spoil in (
        drop,
        drop_an_invocation,
        repeat,
        swap,
        set_a_field,
        lose_a_field,
        spoil_within_a_value,
        name_a_process,
        rename_an_operation,
        send_another_value,
        lose_a_micro_operation,
        lose_an_answer,
        change_a_number,
    )
}
