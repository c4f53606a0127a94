"""A file of cases for the tests of the framework, and how it is run in this process."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from chaos.targets import TARGETS
from conformance.tests.fake import Answer, FakeTarget

HEAD = """
from conformance.case import case, expect
from conformance.wire import Wire

def heartbeat(wire):
    return wire.call("Heartbeat", group_id="g", member_id="m").error_code
"""
PASSES = '''
@case("GRPC-22", "Heartbeat", spec="KIP-62, one")
def test_a_heartbeat_is_accepted(wire):
    """A member's Heartbeat gets NONE."""
    expect(heartbeat(wire), 0, "error")
'''
UNSUPPORTED = '''
@case("TXN-28", "EndTxn", spec="KIP-588, two")
def test_a_transaction_ends(wire):
    """EndTxn ends a transaction."""
    wire.call("EndTxn")
'''


class Suite:
    """A file of cases, run in this process against a fake target."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.monkeypatch = pytester, monkeypatch
        self.target = FakeTarget({})

    def run(self, cases: str, answers: Mapping[str, Answer], *options: str) -> pytest.RunResult:
        self.target = FakeTarget(answers)
        self.monkeypatch.setitem(TARGETS, "fake", lambda _version, _bug: self.target)
        return self.run_plain(cases, "--target", "fake", *options)

    def run_plain(self, cases: str, *options: str) -> pytest.RunResult:
        self.pytester.makepyfile(test_cases=HEAD + cases)
        plugins = ["-p", "conformance.session.examining"]
        # `touchstone` has a fixture `wire`, too; without the others a run is 3 s faster.
        for unwanted in ("touchstone", "cacheprovider", "xdist", "hypothesispytest"):
            plugins += ["-p", f"no:{unwanted}"]
        return self.pytester.runpytest_inprocess(*plugins, *options)
