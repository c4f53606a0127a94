"""Targets that cannot be examined, or no longer: each ends soon, with the sentence of its cause."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from chaos.targets.bootstrap import BootstrapTarget, addresses
from chaos.values.protocols import TargetError
from chaos.world import Address
from conformance import connection, patience
from conformance.connection import ANSWER_TIMEOUT_S
from conformance.patience import HURRIED_TIMEOUT_S, PATIENCE, Patience
from conformance.session.ending import LEAST_REMOVAL_S, Ending
from conformance.target import examination, reach, tidying
from conformance.target.examination import Examined, advertised_versions
from conformance.target.tidying import Tidying
from conformance.tests import servers
from conformance.tests.fake import FakeKafka
from conformance.tests.servers import Advertises, Serve, serving
from conformance.tests.suite import PASSES, Suite
from conformance.wire import api_key

pytest_plugins = ["pytester"]

ALL_S = 25.0
"""Within so long each must have ended, with the time-outs that users have."""
OVERHEAD_S = 240.0
"""The seconds that a busy machine may need in addition to the waits."""
USUAL_S = reach.REACH_TIMEOUT_S
HASTE = 25.0
"""The tests wait for a fraction of that."""
WAITED_FOR = (servers.silent, servers.trickling)


@pytest.fixture(autouse=True)
def hasty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten what the tests wait for. A server that answers badly, but at once, gets the usual
    time: on a busy machine it may need it."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    bad = params.get("serve", params.get("turned"))
    shortened = [(examination, "RETURN_TIMEOUT_S"), (patience, "IMPATIENT_TIMEOUT_S")]
    if bad is None or bad in WAITED_FOR:
        shortened.append((examination, "ALIVE_TIMEOUT_S"))
        for function in (reach.reachable, reach.check):
            monkeypatch.setattr(function, "__defaults__", (USUAL_S / HASTE,))
    for module, name in shortened:
        monkeypatch.setattr(module, name, getattr(module, name) / HASTE)
    monkeypatch.setattr(
        connection.Connection.__init__, "__defaults__", (connection.ANSWER_TIMEOUT_S / HASTE,)
    )


def why_not(bootstrap: str) -> str:
    """Return why this address cannot be examined."""
    started = time.monotonic()
    with pytest.raises(TargetError) as refused:
        Examined.start(None, bootstrap, None, None).stop()
    assert time.monotonic() - started < ALL_S / HASTE + OVERHEAD_S
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("serve", "sentence"),
    [
        (servers.silent, "accepts connections, but does not answer ApiVersions within 0.4 s"),
        (servers.garbage, "answers with bytes that are no Kafka answer"),
        (servers.wrong_body, "answers ApiVersions v0 with bytes that are no Kafka answer"),
        (servers.http, "speaks HTTP, not the Kafka protocol"),
        (servers.eager_http, "speaks HTTP, not the Kafka protocol"),
        (servers.closing_in_the_middle, "closed the connection after 44 of 104 bytes"),
        (servers.trickling, "bytes of its answer to ApiVersions within 0.4 s; it is too slow"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bad_server_is_named_by_its_fault(serve: Serve, sentence: str) -> None:
    with serving(serve) as bootstrap:
        said = why_not(bootstrap)
    assert said.startswith(bootstrap)
    assert sentence in said


def test_a_silent_server_is_told_soon_after_the_time_for_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two other protocols are tried, but not for as long again."""
    waits: list[float] = []
    connect = reach._connect

    def noted(address: Address, timeout_s: float) -> socket.socket:
        waits.append(timeout_s)
        return connect(address, timeout_s)

    monkeypatch.setattr(reach, "PROTOCOL_TIMEOUT_S", 0.1)
    monkeypatch.setattr(reach, "_connect", noted)
    with serving(servers.silent) as bootstrap, pytest.raises(reach.Unreachable):
        reach.reachable(addresses(bootstrap), 1.0)
    assert waits == [1.0, 0.1, 0.1]


@pytest.mark.parametrize("speak", [servers.tls, servers.tls_without_alerts])
def test_a_tls_listener_is_named(tmp_path: Path, speak: object) -> None:
    with serving(speak(tmp_path)) as bootstrap:  # type: ignore[operator]
        assert (
            f"{bootstrap} speaks TLS, and got plain text; describe the cluster in a touchstone.toml"
            in why_not(bootstrap)
        )


def test_where_nothing_listens_is_said() -> None:
    kafka = FakeKafka({})
    kafka.stop()
    assert f"nothing listens at {kafka.bootstrap}: connection refused" in why_not(kafka.bootstrap)


def test_a_name_that_does_not_resolve_is_said() -> None:
    assert "the host name 'no-such-host.invalid' does not resolve" in why_not(
        "no-such-host.invalid:9092"
    )


def test_a_listener_with_sasl_is_refused_not_failed() -> None:
    kafka = servers.WantsSasl()
    why = why_not(kafka.bootstrap)
    assert f"{kafka.bootstrap} wants SASL (PLAIN, SCRAM-SHA-512)" in why
    assert "describe the cluster in a touchstone.toml" in why
    kafka.stop()


def test_an_advertised_address_that_cannot_be_reached_is_said() -> None:
    kafka = servers.Elsewhere("no-such-host.invalid", 9092)
    said = why_not(kafka.bootstrap)
    kafka.stop()
    assert "the broker advertises no-such-host.invalid:9092 to its clients, but the host" in said


@pytest.mark.parametrize(
    ("kafka", "sentence"),
    [
        (partial(Advertises, [(3, 9, 1), (18, 0, 4)]), "the impossible versions 9 to 1 of API 3"),
        (partial(Advertises, [(3, -5, -1)]), "the impossible versions -5 to -1 of API 3"),
        (partial(Advertises, [(3, 0, 9), (3, 0, 9)]), "advertises API 3 more than once"),
        (partial(Advertises, [(3, 0, 0)]), "Metadata v0 to v0; the examination needs one of v1"),
        (partial(Advertises, [(3, 99, 100)]), "advertises Metadata v99 to v100; the examination"),
        (Advertises, "answers Metadata without any broker"),
        (partial(Advertises, brokers=[("here", 70_000)]), "the impossible address 'here', port 70"),
        (partial(Advertises, brokers=[("", 9092)]), "the impossible address '', port 9092 of"),
        (partial(Advertises, brokers=[("here", 1)] * 201), "answers Metadata with 201 brokers"),
    ],
    ids=lambda value: value.split()[-1] if isinstance(value, str) else "",
)
def test_a_broker_that_no_client_could_use_is_refused(
    kafka: Callable[[], FakeKafka], sentence: str
) -> None:
    running = kafka()
    said = why_not(running.bootstrap)
    running.stop()
    assert said.startswith(running.bootstrap)
    assert sentence in said


def test_an_ipv6_address_is_asked_without_its_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def connection(host: str, port: int, **_: object) -> None:
        asked.append((host, port))
        raise ConnectionRefusedError

    monkeypatch.setattr("conformance.target.examination.Connection", connection)
    with pytest.raises(ConnectionRefusedError):
        advertised_versions(BootstrapTarget("[::1]:9092").bootstrap)
    assert asked == [("::1", 9092)]


def test_one_address_of_several_that_answers_is_enough() -> None:
    dead, living = FakeKafka({}), servers.GoesBad()
    dead.stop()
    examined = Examined.start(None, f"{dead.bootstrap},{living.bootstrap}", None, None)
    assert examined.bootstrap == living.bootstrap
    living.stop()


# --- in the middle of an examination --------------------------------------------------------------

TURNS = '''
@case("GRPC-22", "Heartbeat", spec="KIP-62, two")
def test_b_it_turns(wire):
    """A member's Heartbeat gets NONE, which is the last that is answered."""
    from conformance.tests import test_bad_servers
    test_bad_servers.turn()
    expect(heartbeat(wire), 0, "error")
'''
LATER = "".join(PASSES.replace("a_heartbeat_is_accepted", f"c_{number}") for number in range(20))


def turn() -> None:
    """Do what a test puts here for the second case."""
    raise NotImplementedError


@pytest.fixture
def going_bad() -> Iterator[servers.GoesBad]:
    kafka = servers.GoesBad()
    yield kafka
    kafka.stop()


def examine_until(
    suite: Suite,
    kafka: servers.GoesBad,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    turn: Callable[[], None],
) -> dict[str, Any]:
    """Run 22 cases, in the second of which the target turns bad; return the results on disk."""
    monkeypatch.setattr("conformance.tests.test_bad_servers.turn", turn)
    started = time.monotonic()
    result = suite.run_plain(
        PASSES + TURNS + LATER,
        "--bootstrap",
        kafka.bootstrap,
        "--results-json",
        str(path / "found.json"),
        "--results-junit",
        str(path / "found.xml"),
    )
    assert time.monotonic() - started < ALL_S / HASTE + OVERHEAD_S
    assert "INTERNALERROR" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    return dict(json.loads((path / "found.json").read_text()))


@pytest.mark.parametrize(
    ("turned", "cause"),
    [
        (None, "nothing listens at"),
        (servers.silent, "does not answer ApiVersions"),
        (servers.garbage, "no Kafka answer"),
        (servers.eager_http, "speaks HTTP"),
        (servers.closing_in_the_middle, "closed the connection after"),
        (servers.trickling, "too slow"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_target_that_turns_bad_ends_the_examination(
    suite: Suite,
    going_bad: servers.GoesBad,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    turned: Serve | None,
    cause: str,
) -> None:
    def turn() -> None:
        going_bad.turned = turned
        if turned is None:
            going_bad.stop()

    found = examine_until(suite, going_bad, tmp_path, monkeypatch, turn)
    assert (found["passed"], found["failed"], found["not_run"]) == (1, 1, 20)
    last = found["cases"][-1]["nodeid"].partition("::")[2]
    assert found["ended"].startswith(f"the target is gone since {last}: ")
    assert cause in found["ended"]
    xml = ElementTree.parse(tmp_path / "found.xml")
    assert len(list(xml.iter("testcase"))) == 2
    (failure,) = xml.iter("failure")
    assert "did not come back" in failure.attrib["message"]


def test_a_target_that_answers_only_what_it_is_asked_first_ends_the_examination(
    suite: Suite, going_bad: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turn() -> None:
        going_bad.answers_only = frozenset({api_key("ApiVersions"), api_key("Metadata")})

    found = examine_until(suite, going_bad, tmp_path, monkeypatch, turn)
    assert found["ended"] == "the target answered nothing in 6 cases in a row"
    assert (found["passed"], found["failed"], found["not_run"]) == (1, 6, 15)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_removal_leaves_the_results_on_disk(
    suite: Suite,
    going_bad: servers.GoesBad,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    def end(_: Tidying, _timeout_s: float) -> None:
        os.kill(os.getpid(), number)
        removals.append(json.loads((tmp_path / "found.json").read_text())["ended"])

    removals: list[str | None] = []
    monkeypatch.setattr(Tidying, "end", end)
    found = examine_until(suite, going_bad, tmp_path, monkeypatch, lambda: None)
    assert removals == [None]
    assert (found["passed"], found["ended"]) == (22, None)
    assert len(list(ElementTree.parse(tmp_path / "found.xml").iter("testcase"))) == 22


def test_the_time_for_the_removal_is_part_of_the_whole() -> None:
    usual, limited = Ending(), Ending(max_time_s=60.0)
    assert usual.removal_s() == tidying.END_TIMEOUT_S
    limited.began -= 50
    assert 0 < limited.removal_s() <= 10
    limited.began -= 50
    assert limited.removal_s() == LEAST_REMOVAL_S
    usual.end_now("interrupted")
    assert usual.removal_s() == tidying.HURRIED_S
    assert PATIENCE.timeout_s("Fetch", ANSWER_TIMEOUT_S) == HURRIED_TIMEOUT_S
    PATIENCE.forget()
    assert PATIENCE.timeout_s("Fetch", ANSWER_TIMEOUT_S) == ANSWER_TIMEOUT_S


def test_a_silent_target_is_not_waited_for_once_for_each_api() -> None:
    waiting = Patience()
    waiting.note_silence("JoinGroup")
    assert waiting.timeout_s("SyncGroup", ANSWER_TIMEOUT_S) == patience.IMPATIENT_TIMEOUT_S
    waiting.note_answer("Metadata")
    assert waiting.timeout_s("SyncGroup", ANSWER_TIMEOUT_S) == ANSWER_TIMEOUT_S
    assert waiting.timeout_s("JoinGroup", ANSWER_TIMEOUT_S) == patience.IMPATIENT_TIMEOUT_S
