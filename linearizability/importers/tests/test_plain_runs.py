"""Runs of plain lines: read at once, they give the rows and refusals of lines read one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from linearizability.fuzz.texts import DAMAGES
from linearizability.history import HistoryError
from linearizability.importers import jepsen, plain_runs, source

Lines = list[dict[str, Any]]
ONE_BY_ONE = 2**62


def history(rng: Random, operations: int = 60) -> Lines:
    """Return the events of a history of assigned and subscribed clients, most of them plain."""
    events: Lines = []
    pending: dict[int, dict[str, Any]] = {}
    log: list[list[int]] = []
    for value in range(operations):
        process = rng.choice((0, 1, 2, 700_000_000))
        if (asked := pending.pop(process, None)) is not None:
            is_told = asked["f"] in ("txn", "poll", "send")
            told = {"value": [done(one, rng, log) for one in asked["value"]]} if is_told else {}
            events.append(asked | {"type": "ok"} | told)
        elif rng.random() < 0.1:
            f = rng.choice(("assign", "subscribe"))
            pending[process] = plain(process, f, rng.sample(range(4), 3))
            events.append(pending[process])
        else:
            micro: list[list[Any]] = [
                ["poll"],
                ["send", rng.choice((0, 1, 7, 10**17)), value],
                ["poll"],
            ]
            some = rng.choice((micro, micro[:1], micro[1:], [], micro[1:2]))
            f = rng.choice(("txn", "poll" if some in ([], micro[:1]) else "send"))
            pending[process] = plain(process, f, some)
            events.append(pending[process])
            log += [[one[2], one[2]] for one in some if one[0] == "send"]
    times = sorted(rng.choices(range(40), k=len(events)))
    return [{"index": 2 * n, "time": times[n]} | event for n, event in enumerate(events)]


def done(micro: list[Any], rng: Random, log: list[list[int]]) -> list[Any]:
    """Return the completed micro-operation."""
    if micro[0] == "poll":
        return ["poll", answer(rng, log)]
    return ["send", micro[1], [micro[2], micro[2]] if rng.random() < 0.8 else micro[2]]


def plain(process: int, f: str, value: list[Any]) -> dict[str, Any]:
    return {"process": process, "type": "invoke", "f": f, "value": value}


def answer(rng: Random, log: list[list[int]]) -> dict[str, Any]:
    keys = rng.sample(range(5), rng.randrange(4))
    return {str(key): rng.choices(log, k=rng.randint(1, 2)) for key in keys} if log else {}


def text(events: Lines, *, tight: bool = False) -> bytes:
    separators = (",", ":") if tight else None
    return "".join(json.dumps(event, separators=separators) + "\n" for event in events).encode()


def outcome(path: Path) -> pl.DataFrame | str:
    try:
        return jepsen.read(path)
    except HistoryError as error:
        return str(error)


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], pl.DataFrame | str]:
    """Return a function that reads lines at once, and one by one, and requires the same."""

    def read(content: bytes) -> pl.DataFrame | str:
        path = tmp_path / "history.jsonl"
        path.write_bytes(content)
        found = []
        for least in (1, ONE_BY_ONE):
            monkeypatch.setattr(plain_runs, "LINES_MIN", least)
            found.append(outcome(path))
        one, other = found
        if isinstance(one, pl.DataFrame) and isinstance(other, pl.DataFrame):
            assert_frame_equal(one, other)
        else:
            assert one == other
        return one

    return read


@pytest.mark.seeds(60)
def test_a_history_read_in_runs_has_the_rows_of_its_lines(
    seed: int, both: Callable[[bytes], pl.DataFrame | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    events = history(rng)
    if seed % 3 == 0:  # a key twice, a completion of another invocation, an index that falls, ...
        victim = rng.choice(events)
        victim[rng.choice(("index", "time", "process", "f"))] = rng.choice((0, 3, "send", "txn"))
    content = bytearray(text(events, tight=seed % 2 == 0))
    if seed % 3 == 1:
        rng.choice(DAMAGES)(content, rng)
    monkeypatch.setattr(source, "BLOCK", rng.choice((200, 2000, 1 << 20)))
    both(bytes(content))


PLAIN = [
    (0, "invoke", "txn", [["send", 1, 5], ["poll"]]),
    (1, "invoke", "send", [["send", 2, 6]]),
    (0, "ok", "txn", [["send", 1, [0, 5]], ["poll", {"2": [[3, 4]], "1": [[7, 8], [9, 10]]}]]),
    (2, "invoke", "poll", [["poll"]]),
    (1, "ok", "send", [["send", 2, 6]]),
    (2, "ok", "poll", [["poll", {}]]),
]


def plain_text() -> str:
    names = ("process", "type", "f", "value")
    events = [
        {"index": n, "time": n} | dict(zip(names, event, strict=True))
        for n, event in enumerate(PLAIN)
    ]
    return text(events, tight=True).decode()


def test_all_lines_of_a_plain_history_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_made: jepsen.Import, some: list[bytes], _number: int) -> None:
        assert not some

    monkeypatch.setattr(plain_runs, "LINES_MIN", 1)
    monkeypatch.setattr(jepsen.Import, "_add_lines", none)
    (tmp_path / "history.jsonl").write_text(plain_text())
    rows = jepsen.read(tmp_path / "history.jsonl")
    told = rows.select("op_id", "record_index", "f", "partition", "offset", "value", "txn")
    assert told.filter(pl.col("f").is_in(["send", "poll", "commit"])).rows() == [
        (2, 0, "send", 1, 0, 5, 2),
        (2, 1, "poll", 2, 3, 4, 2),
        (2, 2, "poll", 1, 7, 8, 2),
        (2, 3, "poll", 1, 9, 10, 2),
        (2, 4, "commit", None, None, None, 2),
        (4, 0, "send", 2, None, 6, 4),
        (4, 1, "commit", None, None, None, 4),
        (5, 0, "poll", None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("part", "instead", "problem"),
    [
        ('"index":4', '"index":3', "line 5: index 3 follows index 3"),
        ('"time":4', '"time":1', "line 5: time 1 is before time 3 of line 4"),
        ('"time":4', '"time":40000000000000000', "line 5: time 40.* is more than a year"),
        ('"process":2,"type":"ok"', '"process":9,"type":"ok"', "line 6: .* nothing was invoked"),
        ('4,"process":1,"type":"ok"', '4,"process":1,"type":"invoke"', "line 5: process 1 invokes"),
        ('"ok","f":"poll"', '"ok","f":"txn"', "line 6: process 2 completes 'txn'"),
        ("[0,5]", "[0,6]", "line 3: .*a completion must be that of its invocation"),
        ('"send",2,6]]}\n{"index":5', '"send",1,6]]}\n{"index":5', "line 5: .* completes"),
        ('[["poll",{}]]', "[]", "line 6: the completion has 0 micro-operations"),
        ('[["poll",{}]]', '[["send",2,6]]', "line 6: .* completes"),
        ('"1":[[7', '"2":[[7', "line 3: a map has the key '2' twice"),
        ('["send",2,6]', '["send",1,5]', "line 5: value 5 is sent to key 1 a second time"),
        ("[7,8]", "[4999999999999999999,8]", "line 3: an offset must be an integer from 0"),
        ("[7,8]", "[07,8]", "line 3: not a complete JSON object"),
        ("[7,8]", "[7 ,8]", ""),
        ('"process":2', '"process":2147483648', "line 4: 'process' must be an integer"),
    ],
)
def test_a_plain_line_among_others_is_refused_with_its_own_number(
    part: str, instead: str, problem: str, both: Callable[[bytes], pl.DataFrame | str]
) -> None:
    assert part in plain_text()
    said = both(plain_text().replace(part, instead).encode())
    assert isinstance(said, str) == bool(problem)
    assert re.search(problem, str(said))
