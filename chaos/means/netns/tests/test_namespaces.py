"""Test that network namespaces are made, get their packet rules and are removed, also by the next
command if their owner was killed.

The probes prove how the rules affect packets (chaos/probes).
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

import pytest

from chaos.means import leftovers
from chaos.means.links import LinkError, Toxic
from chaos.means.netns import delayer, namespaces
from chaos.means.netns.delays import Delays
from chaos.means.netns.links import NamespaceLinks
from chaos.means.netns.namespaces import NAMES, Namespaces

WAIT_S = 180.0
PORTS = {"CLIENT": 1, "INTERNAL": 2, "CONTROLLER": 3}
NETWORKS = range(2, 64)  # clusters claim 64 to 126
OWNER = """
import signal, sys
from chaos.means.netns.namespaces import Namespaces
Namespaces.make(int(sys.argv[1]), 1)
print("made", flush=True)
signal.pause()
"""
needs_root = pytest.mark.needs("root", "netns")


def claimed() -> Iterator[int]:
    """Yield a network that no other test of this machine uses meanwhile."""
    with ExitStack() as stack:
        for network in NETWORKS:
            claim = stack.enter_context(socket.socket())
            with suppress(OSError):
                claim.bind((f"127.{network}.255.253", 8474))
                yield network
                return
        raise AssertionError("all networks for tests are claimed")


network = pytest.fixture(claimed, name="network")
other_network = pytest.fixture(claimed, name="other_network")


@pytest.fixture
def links(network: int) -> Iterator[NamespaceLinks]:
    made = Namespaces.make(network, 3)
    yield NamespaceLinks(made, PORTS)
    made.remove()


def rules(links: NamespaceLinks, node: int) -> list[str]:
    """Return the packet rules as the node's own firewall prints them."""
    command = [*links.namespaces.enter(node), "/usr/sbin/iptables-save", "-t", "filter"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith("-A")]


def there_are(network: int) -> bool:
    return any(f"-{network}-" in name.name for name in NAMES.glob("touchstone-net-*"))


@needs_root
def test_rules_are_set_when_they_are_settled_and_gone_when_healed(links: NamespaceLinks) -> None:
    links.cut("internal-1-2", "blackhole")
    links.cut("client-3", "refuse")
    assert rules(links, 2) == rules(links, 3) == []
    links.settle()
    assert rules(links, 1) == []
    assert len(rules(links, 2)) == 2
    assert all(
        f".{links.namespaces.network}.1/32" in rule and "port 2 -j DROP" in rule
        for rule in rules(links, 2)
    )
    (refusal,) = rules(links, 3)
    assert f"{links.namespaces.harness}/32" in refusal
    assert "REJECT" in refusal
    links.heal()
    assert [rules(links, node) for node in (1, 2, 3)] == [[], [], []]


@needs_root
def test_the_names_are_those_of_proxied_links(links: NamespaceLinks) -> None:
    assert len(links.names) == 3 + 2 * 6
    for name in links.names:
        links.cut(name, "refuse")
    assert all(links.is_troubled(name) for name in links.names)
    with pytest.raises(LinkError, match="there is no link 'internal-1'"):
        links.cut("internal-1", "refuse")


@needs_root
def test_what_needs_proxies_is_refused_in_a_sentence(links: NamespaceLinks) -> None:
    with pytest.raises(LinkError, match="cannot be held back by packets; use --network proxy"):
        links.delay_answers("client-1", 5, 0)


@needs_root
def test_the_next_command_removes_those_of_a_killed_owner_and_nobody_elses(
    links: NamespaceLinks, other_network: int, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", OWNER, str(other_network)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "made\n"
    namespaces.remove_leftovers()
    assert there_are(other_network)  # its owner lives
    owner.send_signal(signal.SIGKILL)
    owner.communicate(timeout=WAIT_S)
    assert there_are(other_network)
    leftovers.remove()
    assert "2 network namespace(s)" in capsys.readouterr().err
    assert not there_are(other_network)
    assert there_are(links.namespaces.network)


@needs_root
def test_namespaces_go_with_their_interpreter(network: int) -> None:
    program = OWNER.replace("signal.pause()", "")
    command = [sys.executable, "-c", program, str(network)]
    subprocess.run(command, timeout=WAIT_S, check=True)
    assert not there_are(network)


@needs_root
def test_who_has_no_rights_is_told_so() -> None:
    program = "import os; os.setuid(65534); print(namespaces.why_none())"
    done = subprocess.run(
        [sys.executable, "-c", f"from chaos.means.netns import namespaces; {program}"],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    assert "need CAP_SYS_ADMIN and CAP_NET_ADMIN; run as root" in done.stdout


@pytest.fixture
def slow(links: NamespaceLinks, tmp_path: Path) -> Iterator[NamespaceLinks]:
    delays = Delays(links.namespaces, tmp_path / "log")
    yield NamespaceLinks(links.namespaces, PORTS, delays)
    delays.stop()


def latency(latency_ms: int) -> Toxic:
    return Toxic("SlowLinks", "latency", {"latency": latency_ms, "jitter": 0})


@needs_root
def test_what_is_dropped_is_not_held_back_instead(slow: NamespaceLinks) -> None:
    """A released packet meets no further rule."""
    slow.poison("internal-1-2", latency(100))
    slow.cut("internal-1-2", "blackhole")
    slow.settle()
    assert ["DROP" in rule for rule in rules(slow, 2)] == [True, False] * 2  # INPUT, OUTPUT
    slow.heal()
    assert rules(slow, 2) == []


@needs_root
def test_only_so_many_latencies_are_had_at_once(slow: NamespaceLinks) -> None:
    for latency_ms in range(delayer.QUEUES):
        slow.poison("internal-1-2", latency(latency_ms))
    with pytest.raises(LinkError, match="no more than 8 latencies at once; heal first"):
        slow.poison("internal-1-2", latency(100))
    slow.heal()
    slow.poison("internal-1-2", latency(100))


@needs_root
def test_a_delayer_that_is_gone_is_named(slow: NamespaceLinks) -> None:
    slow.poison("internal-1-2", latency(100))
    assert slow._delays is not None
    slow._delays.stop()
    with pytest.raises(LinkError, match=r"packets cannot be held back here .* --network proxy"):
        slow.poison("internal-1-2", latency(200))


def test_packets_keep_their_order_however_their_delays_differ() -> None:
    let_go: list[int] = []

    class Queue:
        came = iter([[(0, 1), (0, 2)], [(0, 3)], []])

        def packets(self) -> list[tuple[int, int]]:
            return next(self.came)

        def let_go(self, queue: int, number: int) -> None:
            let_go.append(number)

    held = delayer.Delayer()
    assert held.obey("0 1000 999") == "ok"
    queue = cast(delayer.Namespace, Queue())
    held.take(queue)
    held.take(queue)
    assert let_go == []
    assert 0 < (held.wait_s() or 0) <= 2
    held.release(everything=True)
    assert let_go == [1, 2, 3]
    assert held.wait_s() is None


class Handed:
    """A namespace whose firewall has handed one packet over, of queue 0."""

    def __init__(self) -> None:
        self.gone = 0

    def packets(self) -> Iterator[tuple[int, int]]:
        yield 0, 1

    def let_go(self, queue: int, number: int) -> None:
        self.gone += 1


def test_who_was_late_before_a_heal_holds_nobody_back_after_it() -> None:
    """Packets keep their order, but only with those that are held back yet."""
    queue, handed = delayer.Delayer(), Handed()
    namespace = cast(delayer.Namespace, handed)
    queue.obey("0 60000 0")
    queue.take(namespace)
    queue.release()
    assert handed.gone == 0
    queue.obey("heal")
    assert handed.gone == 1
    queue.obey("0 100 0")
    queue.take(namespace)
    waits_s = queue.wait_s()
    assert waits_s is not None and waits_s < 1.0


def test_rules_that_could_not_be_taken_away_are_by_the_next_heal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[int, list[str]] = {}
    broken = False

    def set_rules(self: Namespaces, rules: Iterable[tuple[int, Sequence[str]]]) -> None:
        if broken:
            raise LinkError("iptables-restore failed")
        given.update((node, list(lines)) for node, lines in rules)

    monkeypatch.setattr(Namespaces, "set_rules", set_rules)
    links = NamespaceLinks(Namespaces(61, 3), PORTS)
    links.cut("internal-1-2", "blackhole")
    links.settle()
    assert given[2]
    broken = True
    with pytest.raises(LinkError):
        links.heal()
    broken = False
    links.heal()
    assert given == {2: []}
