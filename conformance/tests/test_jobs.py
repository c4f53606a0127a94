"""Cases that several processes run (--jobs): in turns on a cluster that they share, and with one
report."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.invariants.put_off import BrokenInvariant, PutOff
from conformance.patience import Patience
from conformance.reporting.listing import all_cases
from conformance.session.turns import Turns
from conformance.session.units import needs_no_company
from conformance.session.worker import ToldByAll
from conformance.tests import servers
from conformance.tests.suite import HEAD
from reference_impl.wire import ApiKey, Struct

pytest_plugins = ["pytester"]

COUNT = 6
MANY = "".join(
    f'''
@case("GRPC-{number}", "Heartbeat", spec="KIP-62")
def test_heartbeat_{number}(wire):
    """A Heartbeat gets NONE."""
    expect(heartbeat(wire), 0, "error")
'''
    for number in range(10, 10 + COUNT)
)
BUSY = """
import contextlib, pathlib, time

@contextlib.contextmanager
def busy():
    "Fail if another case is busy, as one does that finds what another has changed."
    mark = pathlib.Path(__file__).parent / "busy"
    expect(mark.exists(), False, "another is busy")
    mark.touch()
    try:
        time.sleep(3)
        yield
    finally:
        mark.unlink()
"""
IN_EACH_OTHERS_WAY = BUSY + "".join(
    f'''
@case("GRPC-{number}", "Heartbeat", spec="KIP-62")
def test_heartbeat_{number}(wire):
    """A Heartbeat gets NONE."""
    with busy():
        expect(heartbeat(wire), 0, "error")
'''
    for number in (10, 11)
)
ALONE = BUSY + "".join(
    f'''
@case("CONF-{number}", "IncrementalAlterConfigs", spec="KIP-62", priority="P{number % 3}")
def test_settings_{number}(wire):
    """A Heartbeat gets NONE."""
    with busy():
        expect(heartbeat(wire), 0, "error")

@case("GRPC-{number}", "Heartbeat", spec="KIP-62")
def test_heartbeat_{number}(wire):
    """A Heartbeat gets NONE."""
    expect((pathlib.Path(__file__).parent / "busy").exists(), False, "a case that must be alone")
    expect(heartbeat(wire), 0, "error")
'''
    for number in (10, 11)
)
FAILS = '''
@case("GRPC-29", "Heartbeat", spec="KIP-62")
def test_a_heartbeat_is_refused(wire):
    """A Heartbeat gets UNKNOWN_MEMBER_ID (25)."""
    expect(heartbeat(wire), 25, "error")
'''
BROKEN = "".join(
    f'''
@case("GRPC-{number}", "Heartbeat", spec="KIP-62")
def test_heartbeat_{number}(wire):
    """A Heartbeat gets NONE."""
    from conformance.invariants.put_off import PUT_OFF, BrokenInvariant
    PUT_OFF.note("Metadata", BrokenInvariant("brokers", "each once", "twice"))
    expect(heartbeat(wire), 0, "error")
'''
    for number in range(10, 14)
)
ENDS_ITS_PROCESS = '''
@case("GRPC-28", "Heartbeat", spec="KIP-62")
def test_a_process_ends(wire):
    """A Heartbeat gets NONE."""
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
'''


@pytest.fixture
def shared() -> Iterator[servers.GoesBad]:
    kafka = servers.GoesBad()
    yield kafka
    kafka.stop()


def examine(
    pytester: pytest.Pytester, kafka: servers.GoesBad, cases: str, *options: str
) -> tuple[dict[str, Any], str]:
    """Run cases in processes of their own; return the results and what was printed."""
    pytester.makepyfile(test_cases=HEAD + cases)
    at = pytester.path / "found.json"
    said = pytester.runpytest_subprocess(
        *("-p", "conformance.session.examining", "-p", "no:touchstone"),
        *("-p", "no:cacheprovider", "-p", "no:hypothesispytest"),
        *("--bootstrap", kafka.bootstrap, "--results-json", str(at), *options),
    )
    printed = said.stdout.str() + said.stderr.str()
    return (json.loads(at.read_text()) if at.exists() else {}), printed


# --- the same results, in the same order ----------------------------------------------------------


def test_the_report_is_the_same_as_with_one_job(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    one, _ = examine(pytester, shared, MANY + FAILS)
    three, said = examine(pytester, shared, MANY + FAILS, "--jobs", "3")
    for found in (one, three):
        assert (found["passed"], found["failed"], found["not_run"]) == (COUNT, 1, 0)
        assert found["ended"] is None
        for entry in found["cases"]:
            entry.pop("seconds")
            for message in entry.pop("exchange"):
                assert message["bytes"] > 0
    assert three["cases"] == one["cases"]
    assert f"{COUNT} passed, 1 failed, 0 unsupported" in said
    assert "MUST:      A Heartbeat gets UNKNOWN_MEMBER_ID (25)." in said
    assert "node down" not in said


def test_a_case_that_fails_beside_others_runs_again_alone(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    found, said = examine(pytester, shared, IN_EACH_OTHERS_WAY, "--jobs", "2")
    assert (found["passed"], found["failed"]) == (2, 0)
    assert "1 case failed beside others (--jobs), and ran again alone, which counts: " in said


def test_a_case_that_changes_what_others_see_runs_alone_and_last(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    shared.answers[ApiKey.INCREMENTAL_ALTER_CONFIGS] = shared.answers[ApiKey.HEARTBEAT]
    found, said = examine(pytester, shared, ALONE, "--jobs", "3")
    assert (found["passed"], found["failed"]) == (4, 0)
    assert "ran again" not in said


def test_a_broken_invariant_is_told_by_one_case_of_all_processes(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    found, _ = examine(pytester, shared, BROKEN, "--jobs", "2")
    assert (found["passed"], found["failed"]) == (3, 1)


# --- its ends -------------------------------------------------------------------------------------


def test_enough_failures_end_it(pytester: pytest.Pytester, shared: servers.GoesBad) -> None:
    """How many fail more is a matter of time: the other process may be in the midst of a case, and
    it is told of the end only once the results have come."""
    slow = FAILS.replace("    expect(", "    import time\n    time.sleep(0.2)\n    expect(")
    cases = "".join(slow.replace("is_refused", f"is_refused_{n}") for n in range(40))
    found, said = examine(pytester, shared, cases, "--jobs", "2", "--max-failures", "2")
    assert found["ended"] == "2 cases have failed (--max-failures)"
    assert 2 <= found["failed"] < 40
    assert found["not_run"] == 40 - found["failed"]
    assert "ended early: 2 cases have failed (--max-failures)" in said


def test_a_process_that_ends_by_itself_ends_all(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    found, _ = examine(pytester, shared, ENDS_ITS_PROCESS + MANY, "--jobs", "2")
    assert found["failed"] == 0
    assert found["not_run"] > 0
    assert "ended by itself" in found["ended"]


def test_a_target_that_is_gone_accuses_none_of_those_that_ran_then(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    cases = BUSY + MANY.replace("    expect(", "    time.sleep(3)\n    expect(")

    def leave() -> None:
        if begun.wait(60):
            shared.stop()

    begun, usual = threading.Event(), shared.answers[ApiKey.HEARTBEAT]

    def answer(version: int, request: Struct) -> Struct | None:
        begun.set()
        return usual(version, request)

    shared.answers[ApiKey.HEARTBEAT] = answer
    threading.Thread(target=leave).start()
    found, _ = examine(pytester, shared, cases, "--jobs", "2")
    assert found["failed"] == 0
    assert found["not_run"] > 0
    assert "the target is gone since test_heartbeat_" in found["ended"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--jobs", "0"), "--jobs 0: give a number from 1 on"),
        (("--jobs", "2", "-p", "no:xdist"), "--jobs needs pytest-xdist"),
        (("--jobs", "999"), "have enough ports"),
        (("-n", "2"), "leave out -n, or write --jobs instead"),
    ],
    ids=["none", "without xdist", "too many", "-n"],
)
def test_a_number_of_jobs_that_cannot_be_is_refused(
    pytester: pytest.Pytester, shared: servers.GoesBad, options: tuple[str, ...], why: str
) -> None:
    found, said = examine(pytester, shared, MANY, *options)
    assert found == {}
    assert why in said
    assert "Traceback" not in said


def test_what_another_process_refuses_is_one_sentence(
    pytester: pytest.Pytester, shared: servers.GoesBad
) -> None:
    found, said = examine(pytester, shared, MANY, "--jobs", "2", "--case", "GRPC-999")
    assert found == {}
    assert "no case is called GRPC-999" in said
    assert "Traceback" not in said


# --- its parts ------------------------------------------------------------------------------------


def test_several_use_a_target_at_once_and_one_alone(tmp_path: Path) -> None:
    first, second, third = (Turns(tmp_path) for _ in range(3))
    begun = threading.Event()

    def wait_for_turn() -> None:
        with third.alone():
            begun.set()

    with first.beside(), second.beside():
        waiting = threading.Thread(target=wait_for_turn)
        waiting.start()
        assert not begun.wait(0.3)
    assert begun.wait(10)
    waiting.join()


def test_nobody_begins_while_another_waits_to_be_alone(tmp_path: Path) -> None:
    first, second, third = (Turns(tmp_path) for _ in range(3))
    order: list[str] = []

    def alone() -> None:
        with second.alone():
            order.append("alone")

    def beside() -> None:
        with third.beside():
            order.append("beside")

    threads = [threading.Thread(target=target) for target in (alone, beside)]
    with first.beside():
        for thread in threads:
            thread.start()
            time.sleep(0.3)
        assert order == []
    for thread in threads:
        thread.join(10)
    assert order == ["alone", "beside"]


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("PROD-05", False),
        ("OFFS-21", False),
        ("ADMIN-04", False),
        ("CONF-16", True),
        ("QUOT-05", True),  # about CreateTopics, under a quota that it has set
        ("QUOT-03", True),  # about Fetch, under a quota that it has set
        ("KRFT-13", True),  # about DescribeQuorum, after a broker that it has registered
        ("WIRE-28", True),  # it sends requests of every API
        ("GUAR-10", True),  # it restarts the target
        ("WIRE-16", True),  # malformed bytes
    ],
)
def test_what_needs_to_be_alone_on_a_shared_cluster(id: str, expected: bool) -> None:
    found = [listed for listed in all_cases() if listed.case.id == id]
    assert found
    for listed in found:
        item = SimpleNamespace(path=Path(listed.file), function=listed.function)
        assert needs_no_company(listed.case, cast(pytest.Item, item)) is expected, listed


def test_processes_share_what_they_have_told(tmp_path: Path) -> None:
    one, other = PutOff(), PutOff()
    for each in (one, other):
        each.tell_others(ToldByAll(tmp_path))
        each.forget()
    broken = BrokenInvariant("brokers", "each once", "twice")
    for each in (one, other):
        each.begin("Heartbeat")
        each.note("Metadata", broken)
    assert one.end(passed=True) is not None
    one.tell(broken)
    assert other.end(passed=True) is None


def test_what_was_missed_beside_others_shortens_no_wait() -> None:
    patience = Patience()
    patience.begin("test_x")
    usual_s, memory = patience.awaited_s("the group is Empty", 40), patience.memory()
    patience.note_missed("the group is Empty")
    patience.note_silence("Fetch")
    assert patience.awaited_s("the group is Empty", 40) < usual_s
    assert patience.timeout_s("Fetch", 30) < 30
    patience.restore(memory)
    assert patience.awaited_s("the group is Empty", 40) == usual_s
    assert patience.timeout_s("Fetch", 30) == 30
