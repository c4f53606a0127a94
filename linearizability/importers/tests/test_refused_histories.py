"""A file that is no history of Jepsen's is refused in one sentence, which names the line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from linearizability.history import HistoryError
from linearizability.importers import jepsen
from linearizability.importers.tests.test_jepsen import (
    INVOKE,
    INVOKE_SEND,
    OK_SEND,
    operation,
    poll,
    written,
)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([OK_SEND], "line 1: process 0 completes 'send' .type ok., but nothing was invoked"),
        ([INVOKE_SEND, INVOKE_SEND | {"index": 1}], "line 2: process 0 invokes although"),
        ([INVOKE_SEND, OK_SEND | {"index": 0}], "line 2: index 0 follows index 0"),
        ([INVOKE_SEND, OK_SEND | {"time": 1}], "line 2: time 1 is before time 5 of line 1"),
        ([INVOKE_SEND, OK_SEND | {"f": "poll"}], "completes 'poll', but line 1 invoked 'send'"),
        ([INVOKE_SEND | {"type": "done"}], "line 1: 'type' must be one of invoke, ok"),
        ([INVOKE_SEND | {"process": None}], "line 1: 'process' is missing"),
        ([INVOKE_SEND | {"process": True}], "line 1: 'process' must be an integer"),
        ([INVOKE_SEND | {"time": "now"}], "line 1: 'time' must be an integer"),
        ([INVOKE | {"value": 3}], "line 1: the value of 'send' must be a list"),
        ([INVOKE | {"value": [["sing"]]}], "line 1: a micro-operation must be"),
        ([INVOKE | {"value": [["send", 1]]}], "line 1: a send must be"),
        ([INVOKE | {"value": [["send", 1.5, 2]]}], "line 1: a key must be"),
        ([INVOKE | {"value": [["send", 1, "x"]]}], "line 1: a value must be an integer"),
        ([INVOKE_SEND, OK_SEND | {"value": [["send", 1, [-1, 42]]]}], "line 2: an offset must be"),
        (
            [
                *poll(1),
                INVOKE_SEND | {"index": 3},
                OK_SEND | {"index": 4},
                *operation(12, "send", [["send", 1, 42]]),
            ],
            "line 6: value 42 is sent to key 1 a second",
        ),
        (operation(1, "poll", [["poll", [1]]]), "line 2: a poll must give a map"),
        (operation(1, "poll", [["poll", {"1": [[5]]}]]), "line 2: a polled record must be"),
        (operation(1, "poll", [["poll", {"1": [[None, 5]]}]]), "line 2: an offset must be"),
        (operation(1, "assign", 3), "line 2: the value of 'assign' must be a list of keys"),
        (poll(1, 0, **{"rebalance-log": [3]}), "line 2: 'rebalance-log' must be"),
        # Rows that a reader would leave out, or confuse with others.
        ([INVOKE_SEND | {"process": "0"}], "line 1: operation 'send' under process '0', which is"),
        ([INVOKE_SEND | {"process": "nemesis"}], "operation 'send' under process 'nemesis'"),
        ([INVOKE | {"process": "n1", "f": "tidy"}], "operation 'tidy' under process 'n1'"),
        ([INVOKE_SEND | {"process": "nemesis", "f": "kill"}], "operation 'kill' under process"),
        ([INVOKE_SEND | {"f": "produce"}], "line 1: 'f' 'produce' is not known"),
        ([INVOKE | {"f": "produce", "value": ["send", 1, 2]}], "'f' 'produce' is not known"),
        ([INVOKE | {"f": "produce", "value": [1, 2]}], "'f' 'produce' is not known"),
        ([INVOKE_SEND | {"f": "crash"}], "'f' 'crash' may not name records"),
        ([INVOKE], "line 1: the invocation of 'send' does not say what it asks for"),
        ([INVOKE_SEND, OK_SEND | {"value": None}], "line 2: an ok completion of 'send' does not"),
        (
            [INVOKE_SEND, OK_SEND | {"value": [["send", 1, [7, 43]]]}],
            r"line 2: \['send', 1, \[7, 43\]\] completes \['send', 1, 42\] of line 1.*index 1",
        ),
        ([INVOKE_SEND, OK_SEND | {"value": [["send", 2, [7, 42]]]}], "line 2: .* completes"),
        ([INVOKE_SEND, OK_SEND | {"value": [["poll", {}]]}], "line 2: .* completes"),
        ([INVOKE_SEND, OK_SEND | {"value": []}], "line 2: the completion has 0 micro-operations"),
        (
            [INVOKE_SEND, OK_SEND | {"type": "info", "value": [["send", 1, 42], ["poll"]]}],
            "line 2: the completion has 2 micro-operations, but line 1 invoked 1",
        ),
        (
            [INVOKE | {"value": [["poll"]]}, OK_SEND | {"value": [["poll"]]}],
            "line 2: a poll of an ok operation does not list its records",
        ),
        (
            [INVOKE | {"f": "assign", "value": [1]}, OK_SEND | {"f": "assign", "value": [2]}],
            r"line 2: \[2\] completes \[1\] of line 1",
        ),
        (
            [INVOKE_SEND, OK_SEND | {"time": 40_000_000_000_000_000}],
            "line 2: time 40000000000000000 is more than a year .* after the first event's, 5",
        ),
        # Numbers that judges cannot add to.
        ([INVOKE_SEND | {"time": 2**63 - 1}], "line 1: 'time' must be an integer from 0 up to"),
        ([INVOKE_SEND | {"index": 2**63 - 1}], "line 1: 'index' must be an integer from 0 up to"),
        (poll(1, 2**63 - 1), "line 2: an offset must be an integer from 0 up to 2.62, not 9223"),
        (poll(1, 2**80), "line 2: an offset must be an integer from 0 up to 2.62"),
        (poll(1, 0, -1), "line 2: an offset must be an integer from 0 up to 2.62, not -1"),
        (operation(1, "poll", [["poll", {"1": [[0, -(2**63)]]}]]), "line 2: a value must be"),
        (operation(1, "poll", [["poll", {"1": [[0, 2**64]]}]]), "line 2: a value must be"),
        (operation(1, "poll", [["poll", {"1": [[0, True]]}]]), "line 2: a value must be"),
        (operation(1, "poll", [["poll", {"1": ["ab"]}]]), "line 2: a polled record must be"),
        (operation(1, "poll", [["poll", {"1": [{"a": 1, "b": 2}]}]]), "line 2: a polled record"),
        ([INVOKE | {"value": [["send", "\ud800", 2]]}], "line 1: key .* is not Unicode text"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_is_no_history_is_refused_with_its_line(
    tmp_path: Path, events: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(HistoryError, match=problem):
        jepsen.read(written(tmp_path, *events))


TWICE = '{"index":0,"process":0,"type":"ok","f":"poll","value":[["poll",{"1":[[0,1]],"1":[]}]]}'


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.jsonl",
            TWICE.replace("ok", "invoke") + "\n" + TWICE.replace(":0,", ":1,", 1),
            "line 2: a map has the key '1' twice",
        ),
        (
            "a.jsonl",
            '{"process":"nemesis","type":"info","f":"kill","f":"heal"}',
            "line 1: a map has the key 'f' twice",
        ),
        ("a.edn", "{:f :poll, :f :send}", "line 1: a map has the key 'f' twice"),
        ("a.edn", '{:a {1 2, "1" 3}}', "line 1: a map has the key '1' twice"),
        ("a.jsonl", '{"time": ' + "9" * 5000 + "}", "line 1: .*a number has too many digits"),
        ("a.edn", "{:time " + "9" * 5000 + "}", "line 1: a number has more than 400 digits"),
        ("a.edn", "{:time 1/" + "9" * 5000 + "}", "line 1: a number has more than 400 digits"),
        ("a.edn", "\n" + "[" * 100_000, "line 2: forms are nested more than 100 deep"),
        ("a.edn", "{:f :poll :value " + "[1 " * 100 + "]" * 100 + "}", "nested more than 100"),
        ("a.edn", "#a " * 100_000, "line 1: forms are nested more than 100 deep"),
        ("a.jsonl", "[" * 100_000, "line 1: .*nested too deeply"),
        ("a.edn", '{:f "\n\n', "line 1: a string is not closed"),
        ("a.edn", "{:f \\", "line 1: a character is missing"),
        ("a.jsonl", '{"index": 0}\n[1]\n', "line 1: 'process' is missing"),
        ("a.jsonl", "[1]\n", "line 1: an event must be a map"),
        ("a.jsonl", '\n{"index": 0, "ty', "line 2: not a complete JSON object"),
        ("a.edn", "{:index 0\n:type :ok", "line 1: '{' is not closed"),
        ("a.edn", '{:index 0\n:type "ok', "line 2: a string is not closed"),
        ("a.edn", "{:index 0]", "line 1: ']' stands where '}' should close"),
        ("a.edn", "{:index}", "line 1: a map has a key without a value"),
        ("a.edn", "}", "line 1: '}' closes nothing"),
        ("a.edn", "[{:index 0}", "line 1: 'process' is missing"),
        ("a.edn", "[ ", "the vector of events is not closed"),
        ("a.edn", "{:index #x", "nothing follows '#x'"),
    ],
)
def test_a_file_that_is_cut_off_or_no_text_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(HistoryError, match=problem):
        jepsen.read(tmp_path / name)


def test_a_path_that_leads_to_no_file_is_refused(tmp_path: Path) -> None:
    loop, pipe = tmp_path / "loop.edn", tmp_path / "pipe.jsonl"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for path, why in (
        (loop, "loop.edn: cannot be read"),
        (pipe, "is not a regular file"),
        (tmp_path / ("x" * 300 + ".edn"), "cannot be read"),
    ):
        with pytest.raises(HistoryError, match=why):
            jepsen.read(path)
