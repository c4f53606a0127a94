"""Make Jepsen files for the fuzzer: correct ones, ones with some spoiled events, and ones whose
text is damaged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from linearizability.fuzz.events import SPOILERS, Event, history
from linearizability.fuzz.told import Told, told_by

JUNK = (
    "9" * 5000,
    "1/" + "9" * 5000,
    "[" * 100_000,
    "{:a " * 3000,
    "#a " * 3000,
    '"',
    "\\",
    "\\ud800",
    "{",
    "}",
    "]",
    "\n",
    "\0",
    ",",
    ":",
    "nil",
    "null",
    "#_",
    ";",
    "NaN",
    "-",
    "1e999",
    "\ufeff",
    '"1":[[0,1]],',
    '"f":"poll",',
    ":f :poll ",
    "true",
    "é",
)
_WORDS = {None: "nil", True: "true", False: "false"}
_KEYWORD = re.compile(r"[a-z][a-z-]*\??")


@dataclass(frozen=True)
class Text:
    """One text file. told: the sends and polls in it, if known. refused: whether a reader must
    refuse it."""

    what: str
    suffix: str
    content: bytes
    told: Told | None
    refused: bool = False


def text(rng: Random) -> Text:
    """Return a random file: half of them spoiled in one event (or nothing, if that is not
    possible), half damaged in one to three places of the text."""
    events = history(rng)
    suffix = rng.choice((".jsonl", ".edn"))
    if rng.random() < 0.5:
        return _spoiled(events, suffix, rng)
    return _damaged(events, suffix, rng)


def _spoiled(events: list[Event], suffix: str, rng: Random) -> Text:
    if rng.random() < 0.1:
        return _with_a_key_twice(events, suffix, rng)
    name = rng.choice(sorted(SPOILERS))
    must = SPOILERS[name](events, rng)
    what, refused = ("as it is", False) if must is None else (name, must)
    try:
        told = told_by(events)
    except (TypeError, ValueError, AttributeError):
        told = None  # an event is damaged, so a reader must refuse the file
        refused = True
    return Text(what, suffix, _written(events, suffix), told, refused)


def _with_a_key_twice(events: list[Event], suffix: str, rng: Random) -> Text:
    """Return a file in which the map of an event, or of a poll's answer, has its first key again.
    If no line allows that, return the correct file."""
    lines = _written(events, suffix).decode().splitlines()
    line = rng.randrange(len(lines))
    first = re.match(r'\{("\w+": [^,]*,|:\w+ [^,]*,)', lines[line])
    answer = re.search(r'\[(?:"poll"|:poll),? (\{[^}]+\])(\}\])', lines[line])
    if answer and rng.random() < 0.5:
        again = f"{', ' if suffix == '.jsonl' else ' '}{answer[1][1:]}"
        lines[line] = lines[line][: answer.end(1)] + again + lines[line][answer.end(1) :]
    elif first:
        lines[line] = "{" + first[1] + " " + lines[line][1:]
    else:
        return Text("as it is", suffix, _written(events, suffix), told_by(events))
    return Text("a key twice", suffix, "\n".join(lines).encode(), None, refused=True)


def _damaged(events: list[Event], suffix: str, rng: Random) -> Text:
    content = bytearray(_written(events, suffix))
    done = []
    for _ in range(rng.choice((1, 1, 1, 3))):
        damage = rng.choice(DAMAGES)
        damage(content, rng)
        done.append(damage.__name__)
    if suffix == ".edn":
        return Text("+".join(done), suffix, bytes(content), None)
    told, refused = _told_by_json(bytes(content))
    return Text("+".join(done), suffix, bytes(content), told, refused)


def _told_by_json(content: bytes) -> tuple[Told | None, bool]:
    """Return (the sends and polls in the lines, False), or (None, True) if they are not JSON lines
    and must be refused."""
    try:
        lines = content.removeprefix(b"\xef\xbb\xbf").decode().split("\n")
        events = [json.loads(line, object_pairs_hook=_unique) for line in lines if line.strip()]
        return told_by(events), False
    except (ValueError, RecursionError, TypeError, AttributeError):
        return None, True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def flip(content: bytearray, rng: Random) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def put_a_byte(content: bytearray, rng: Random) -> None:
    if content:
        content[rng.randrange(len(content))] = rng.choice(b'0123456789:,[]{}"\\ \n-')


def another_digit(content: bytearray, rng: Random) -> None:
    """Replace a random digit by a random one, perhaps the same, so that the file has no syntax
    error. Do nothing without digits."""
    digits = [at for at, byte in enumerate(content) if byte in b"0123456789"]
    if digits:
        content[rng.choice(digits)] = rng.choice(b"0123456789")


def cut(content: bytearray, rng: Random) -> None:
    del content[rng.randrange(len(content) + 1) :]


def take_out(content: bytearray, rng: Random) -> None:
    start = rng.randrange(len(content) + 1)
    del content[start : start + rng.choice((1, 1, 5, 50, 500))]


def double(content: bytearray, rng: Random) -> None:
    start = rng.randrange(len(content) + 1)
    content[start:start] = content[start : start + rng.choice((1, 5, 50, 500))]


def insert_junk(content: bytearray, rng: Random) -> None:
    start = rng.randrange(len(content) + 1)
    content[start:start] = rng.choice(JUNK).encode()


def insert_noise(content: bytearray, rng: Random) -> None:
    start = rng.randrange(len(content) + 1)
    content[start:start] = rng.randbytes(rng.choice((1, 4, 64)))


Damage = Callable[[bytearray, Random], None]
DAMAGES: tuple[Damage, ...] = (
    another_digit,
    another_digit,
    another_digit,
    flip,
    put_a_byte,
    cut,
    take_out,
    double,
    insert_junk,
    insert_noise,
)


def _written(events: list[Event], suffix: str) -> bytes:
    write = json.dumps if suffix == ".jsonl" else edn
    return "".join(write(event) + "\n" for event in events).encode()


def edn(value: Any) -> str:
    """Return a value as Clojure prints it, with texts as keywords where possible. A number that is
    not finite becomes ##NaN."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{edn(_key(k))} {edn(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(map(edn, value)) + "]"
    if isinstance(value, str):
        if _KEYWORD.fullmatch(value):
            return f":{value}"
        return json.dumps(value)  # escapes as EDN has them
    if isinstance(value, float) and not math.isfinite(value):
        return "##NaN"
    return str(value) if type(value) is int or type(value) is float else _WORDS[value]


def _key(key: Any) -> Any:
    """Return the key of a poll's map as Jepsen writes it: a number in EDN, a text in JSON."""
    return int(key) if isinstance(key, str) and key.isdecimal() else key
