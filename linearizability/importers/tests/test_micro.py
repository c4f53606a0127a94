"""Micro-operations of Jepsen: which keys are one place."""

from __future__ import annotations

from linearizability.importers.events import Event
from linearizability.importers.micro import place_of
from linearizability.importers.tests.test_jepsen import INVOKE


def test_keys_that_differ_have_places_of_their_own() -> None:
    event = Event("history.jsonl", 1, 0, 5, 0, "invoke", "send", None, INVOKE)
    keys = [0, 7, -1, 2**40, "007", "orders", "jepsen", "jepsen'", "jepsen''", "jepsen-0"]
    assert len({place_of(key, event) for key in keys}) == len(keys)
    assert place_of("7", event) == place_of(7, event) == ("jepsen", 7)
    assert place_of("orders", event) == ("orders", 0)
