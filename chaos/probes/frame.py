"""A probe proves that one fault takes effect on one backend, and that it heals.

A probe is a function over a `Site`, a cluster that runs on some `Ground`. It strikes inside
`site.struck(fault)`, which measures how long the fault takes to apply and to heal, looks for the
effect as a client or a node would feel it (a write hangs, a dial is refused, an answer is late),
and raises ProbeFailed if there is none. After the block the effect must be gone. Its result is a
sentence that says what it saw.

    def cut_clients(site: Site) -> str:
        with site.struck(CutClients(1, how="refuse")):
            site.expect(lambda: is_refused(site.client(1)), "a client's dial is refused")
        site.expect(lambda: site.answers(1), "a client is answered again")
        return "a dial was refused"
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chaos.targets.bootstrap import addresses
from chaos.targets.clusters import probe
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Performed
from chaos.world import Address
from reference_impl.wire import ApiKey, encode_request, request_definition

PATIENCE_S = 60.0
"""The seconds to wait for an effect or a recovery, long enough for a busy machine."""
QUIET_S = 0.4
"""The seconds without a response after which a probe takes a node to be silent; a response takes
milliseconds."""
LOOK_EVERY_S = 0.01


class ProbeFailed(Exception):
    """Raised if a fault had no effect, or did not heal; the message is one sentence."""


class Backend(StrEnum):
    """The means by which a cluster performs faults; each backend is a column of the table of
    faults."""

    PROCESS = "process"
    """Child processes, signals, toxiproxy: no root is needed."""
    ROOT = "process, root"
    """Child processes with their own file systems (loop devices) and network namespaces: root is
    needed."""
    DOCKER = "docker"


@dataclass(frozen=True)
class Ground:
    """The kind of cluster on which a probe runs: how to start it, and why that is impossible on
    this machine, if it is."""

    name: str
    backend: Backend
    start: Callable[[Path], LocalCluster]
    why_not: Callable[[], str | None]
    nightly: bool = False
    """Whether the cluster takes long to start, so that its probes run only on request."""


class Site:
    """A running cluster for probes. Its times are those of the last fault performed."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.apply_ms = 0.0
        self.heal_ms = 0.0
        self.back_ms = 0.0
        """The milliseconds from the heal until every node answers again."""

    @contextmanager
    def struck(self, fault: Fault) -> Iterator[Performed]:
        """Perform the fault and run the block that looks for its effect. Then heal, even if the
        block failed, and wait until all nodes are back. Raise ProbeFailed if the fault affects no
        node, or if the nodes are not back within PATIENCE_S."""
        began = time.perf_counter()
        performed = self.cluster.perform(fault)
        self.apply_ms = _since_ms(began)
        try:
            if not performed.nodes:
                raise ProbeFailed(f"the fault affected no node: {performed.note}")
            yield performed
        finally:
            began = time.perf_counter()
            self.cluster.perform(Heal())
            self.heal_ms = _since_ms(began)
        self.expect(self.cluster.alive, "every node answers after the heal")
        self.back_ms = _since_ms(began)

    def expect(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the condition is true, or raise ProbeFailed if that takes longer than
        PATIENCE_S. Errors of the connection count as false, since a node that was just started may
        not listen yet."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            last = ""
            try:
                if condition():
                    return
            except OSError as error:
                last = f" ({error})"
            if time.monotonic() > deadline:
                raise ProbeFailed(f"not within {PATIENCE_S:.0f} s: {what}{last}")
            time.sleep(LOOK_EVERY_S)

    def client(self, node: int = 1) -> Address:
        """Return the address at which clients reach a node, which is that of its proxy if there is
        one."""
        return addresses(self.cluster.bootstrap)[node - 1]

    def answers(self, node: int = 1, timeout_s: float = PATIENCE_S) -> bool:
        """Return whether a node answers a client within timeout_s seconds."""
        return probe.answers(self.client(node), timeout_s)

    def ask_over(self, connection: socket.socket, whole: bool = True) -> bytes:
        """Send ApiVersions on an open connection. Return the bytes of the response. If the
        connection ends before, return the part that arrived, or b"" if `whole`. Raise OSError if
        the connection is reset or silent for longer than its time-out."""
        body = request_definition(ApiKey.API_VERSIONS).new()
        connection.sendall(encode_request(ApiKey.API_VERSIONS, 0, 1, "touchstone-probe", body))
        received = b""
        while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4]):
            data = connection.recv(65_536)
            if not data:
                return b"" if whole else received
            received += data
        return received


@dataclass(frozen=True)
class Probe:
    """One row of the registry: a fault, a ground, and the function that proves the fault there.

    `run` returns a sentence about what it observed, or raises ProbeFailed. `apply_ms_max` is the
    bound in ms for applying the fault on a quiet machine, or None if there is none.
    """

    fault: type[Fault]
    ground: Ground
    run: Callable[[Site], str]
    apply_ms_max: float | None = None

    @property
    def name(self) -> str:
        return f"{self.fault.__name__}: {self.run.__name__} on {self.ground.name}"


class Outcome(StrEnum):
    PROVED = "proved"
    FAILED = "failed"
    NOT_HERE = "not here"
    """This machine cannot run the probe: the machine or the user's rights lack something."""


@dataclass(frozen=True)
class Proof:
    """The result of one probe: the outcome, what was observed, and the times."""

    probe: Probe
    outcome: Outcome
    detail: str
    apply_ms: float = 0.0
    heal_ms: float = 0.0
    back_ms: float = 0.0

    @property
    def is_slow(self) -> bool:
        """Return whether applying the fault took longer than its bound for a quiet machine."""
        return self.probe.apply_ms_max is not None and self.apply_ms > self.probe.apply_ms_max


def _since_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000
