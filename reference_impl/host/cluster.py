"""Run several nodes, each in a process of its own, as one cluster on this machine.

The nodes end with this process, however it ends: each watches a pipe that this process alone holds
open. A node that ends alone is not started again, so that one may see how the others go on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from reference_impl.core.configs.cluster import VOTERS
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import DataDirectory, uuid_text
from reference_impl.host.disk import Disk

HOST = "127.0.0.1"
REPLICAS, VOTERS_USUAL, NODES_MAX = 3, 3, 99
STOP_S = 20.0
OF_EACH_NODE = ("node.id", "process.roles", "listeners", "advertised.listeners", "log.dirs", VOTERS)
"""The settings that differ between the nodes, which are made here."""


@dataclass(frozen=True)
class Size:
    """The number of nodes, and the port of the first for clients; 0 means free ports for all."""

    nodes: int
    controllers: int | None
    first_port: int


def options_of_nodes(size: Size, data: Path, given: Mapping[str, str]) -> dict[int, list[str]]:
    """Return the options of each node: its data directory and its settings. Raise BadConfig."""
    voters = range(1, _controllers(size) + 1)
    for key in OF_EACH_NODE:
        if key in given:
            raise BadConfig(f"{key} differs between nodes: --nodes {size.nodes} sets it; remove it")
    first = size.first_port
    if first + size.nodes - 1 > 65535:
        raise BadConfig(f"--port {first}: {size.nodes} nodes need as many ports, up to 65535")
    free = _free_ports(size.nodes + len(voters))
    quorum = {node: f"{HOST}:{free.pop()}" for node in voters}
    cluster_id = _cluster_id(data, size.nodes)
    replicas = min(size.nodes, REPLICAS)
    found = {}
    for node in range(1, size.nodes + 1):
        listeners = [f"PLAINTEXT://{HOST}:{first + node - 1 if first else free.pop()}"]
        listeners += [f"CONTROLLER://{quorum[node]}"] if node in voters else []
        settings = {
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(min(replicas, 2)),
            **given,
            "node.id": str(node),
            "process.roles": "broker,controller" if node in voters else "broker",
            VOTERS: ",".join(f"{voter}@{where}" for voter, where in quorum.items()),
            "listeners": ",".join(listeners),
        }
        pairs = [word for key, text in settings.items() for word in ("--config", f"{key}={text}")]
        found[node] = ["--data", str(data / str(node)), f"--cluster-id={cluster_id}", *pairs]
    return found


def run(options: Mapping[int, Sequence[str]]) -> int:
    """Run the nodes until a signal comes or all have ended, and return the exit status: 0 after a
    clean stop, else that of the first node that could not start or gave up."""
    return asyncio.run(_Cluster(options).run())


class _Cluster:
    """The running nodes."""

    def __init__(self, options: Mapping[int, Sequence[str]]) -> None:
        self._options = options
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._addresses: dict[int, str] = {}
        self._is_stopping = False

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        with ExitStack() as stack:
            watched, held = os.pipe()
            stack.callback(os.close, held)
            try:
                for node, options in self._options.items():
                    self._children[node] = await _started(options, watched)
            finally:
                os.close(watched)
            statuses = await asyncio.gather(*map(self._accompany, self._children))
        return next((status for status in statuses if status), 0)

    async def _accompany(self, node: int) -> int:
        """Take the node's address, wait for its end, and return its status."""
        child = self._children[node]
        assert child.stdout is not None
        line = (await child.stdout.readline()).decode()
        if line.startswith("ready "):
            self._addresses[node] = line.removeprefix("ready ").strip()
            if len(self._addresses) == len(self._children):
                where = (self._addresses[each] for each in sorted(self._addresses))
                print(f"ready {','.join(where)}", flush=True)
        status = await child.wait()
        if self._is_stopping:
            return max(status, 0)
        print(f"touchstone serve: node {node} has ended, status {status}", file=sys.stderr)
        if len(self._addresses) < len(self._children):
            self._stop()  # a cluster that did not come up as a whole is none
        return max(status, 0)

    def _stop(self) -> None:
        self._is_stopping = True
        for child in self._children.values():
            if child.returncode is None:
                child.terminate()
        asyncio.get_running_loop().call_later(STOP_S, self._kill)

    def _kill(self) -> None:
        for child in self._children.values():
            if child.returncode is None:
                child.kill()


async def _started(options: Sequence[str], watched: int) -> asyncio.subprocess.Process:
    """Start the process of a node, which ends when nobody holds the pipe open any more."""
    command = [
        sys.executable,
        "-m",
        "reference_impl.host",
        *options,
        "--until-closed",
        str(watched),
    ]
    return await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, pass_fds=(watched,)
    )


def _controllers(size: Size) -> int:
    if not 1 <= size.nodes <= NODES_MAX:
        raise BadConfig(f"--nodes {size.nodes}: there are from 1 to {NODES_MAX} nodes here")
    count = min(size.nodes, VOTERS_USUAL) if size.controllers is None else size.controllers
    if not 1 <= count <= size.nodes:
        raise BadConfig(
            f"--controllers {count}: give a number from 1 to {size.nodes}, since each controller is"
            " a broker, too"
        )
    return count


def _cluster_id(data: Path, nodes: int) -> str:
    """Return the id that a node's directory has already, else a new one."""
    for node in range(1, nodes + 1):
        known = DataDirectory.cluster_of(Disk(), str(data / str(node)))
        if known is not None:
            return known
    return uuid_text(uuid4())


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on at this moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]
