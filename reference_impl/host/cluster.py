"""Run several nodes, each in a process of its own, as one cluster on this machine.

    DATA/1.properties   the settings of node 1: with them it can be started alone
    DATA/1.log          its log
    DATA/1/             its data directory

The nodes end with this process, however it ends: each watches a pipe that this process alone holds
open. A node that ends alone is not started again, so that the behaviour of the others can be
observed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import (
    BETWEEN_BROKERS,
    CONTROLLER_LISTENERS,
    PROTOCOL_BETWEEN_BROKERS,
    VOTERS,
    of_internal_topics,
)
from reference_impl.core.configs.keys import BadConfig, split_list
from reference_impl.core.log.directories.data_directory import DataDirectory, uuid_text
from reference_impl.host.disk import Disk
from reference_impl.host.settings.properties import write_private
from reference_impl.host.tcp.ports import HOST, free_ports

VOTERS_USUAL, NODES_MAX = 3, 99
STOP_S = 20.0
INCOMPLETE = 1
"""The exit status if a node ended before all were ready without a status that tells why."""
OF_EACH_NODE = (
    *("node.id", "process.roles", "listeners", "advertised.listeners"),
    *("log.dir", "log.dirs", VOTERS),
)
"""The settings that differ between the nodes, so that a user must not give them."""
SAID = "touchstone serve: "


@dataclass(frozen=True)
class Size:
    """The numbers of nodes and of controllers among them (None: all, but at most three), and the
    port of the first node for clients; 0 means free ports for all."""

    nodes: int
    controllers: int | None
    first_port: int


def settings_of_nodes(
    size: Size, data: Path, given: Mapping[str, str]
) -> dict[int, dict[str, str]]:
    """Return the settings of each node. Raise BadConfig if a number of nodes, controllers or ports
    is impossible, or a given setting is wrong or must differ between nodes; OSError if too few
    ports are free.

    Node i listens for clients and other brokers at the first port + i - 1; the controllers' ports
    follow. Each listener has the name that the settings give it, else PLAINTEXT and CONTROLLER.
    """
    voters = range(1, _controllers(size) + 1)
    for key in OF_EACH_NODE:
        if key in given:
            raise BadConfig(f"{key} differs between nodes: --nodes {size.nodes} sets it; remove it")
    ports = _ports(size.first_port, size.nodes + len(voters))
    quorum = {node: f"{HOST}:{ports[size.nodes + node - 1]}" for node in voters}
    brokers = given.get(BETWEEN_BROKERS) or given.get(PROTOCOL_BETWEEN_BROKERS) or "PLAINTEXT"
    controllers = (split_list(given.get(CONTROLLER_LISTENERS, "")) or ["CONTROLLER"])[0]
    found = {}
    for node in range(1, size.nodes + 1):
        listeners = [f"{brokers}://{HOST}:{ports[node - 1]}"]
        listeners += [f"{controllers}://{quorum[node]}"] if node in voters else []
        found[node] = {
            **of_internal_topics(size.nodes),
            **given,
            "node.id": str(node),
            "process.roles": "broker,controller" if node in voters else "broker",
            VOTERS: ",".join(f"{voter}@{where}" for voter, where in quorum.items()),
            "listeners": ",".join(listeners),
            "log.dirs": str(data / str(node)),
        }
        BrokerConfig.of(found[node])
    return found


def options_of_nodes(
    settings: Mapping[int, Mapping[str, str]], data: Path, cluster_id: str | None, bug: str | None
) -> dict[int, list[str]]:
    """Write the settings of each node to a file, and return the command-line options of each node.
    cluster_id: None for the one that a node's directory has, or a new one."""
    owner = cluster_id or _cluster_id(data, len(settings))
    found = {}
    for node, own in settings.items():
        write_private(file := data / f"{node}.properties", own)
        planted = [f"--bug={bug}"] if bug else []
        found[node] = [f"--config-file={file}", f"--cluster-id={owner}", *planted]
    return found


def run(options: Mapping[int, Sequence[str]], data: Path) -> int:
    """Run the nodes until a signal comes or all have ended, and return the exit status: 0, or not 0
    if a node could not start or gave up. Kill a node that runs for STOP_S after the signal."""
    return asyncio.run(_Cluster(options, data).run())


class _Cluster:
    """The nodes of one `touchstone serve --nodes N`, each a child process."""

    def __init__(self, options: Mapping[int, Sequence[str]], data: Path) -> None:
        self._options, self._data = options, data
        self._children: dict[int, asyncio.subprocess.Process] = {}
        self._addresses: dict[int, str] = {}
        self._is_stopping = False
        self._pipe = ExitStack()
        """Closes the pipe whose end the nodes watch."""

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        with self._pipe:
            watched, held = os.pipe()
            self._pipe.callback(os.close, held)
            try:
                for node, options in self._options.items():
                    self._children[node] = await _started(options, watched, self._log(node))
            finally:
                os.close(watched)
            statuses = await asyncio.gather(*map(self._accompany, self._children))
        return next((status for status in statuses if status), 0)

    def _log(self, node: int) -> Path:
        return self._data / f"{node}.log"

    async def _accompany(self, node: int) -> int:
        """Print the addresses of all nodes when this one is the last to be ready, wait for its end,
        and return its exit status: 0 also after a signal, which somebody may have sent in order to
        see how the others go on. Unless the nodes are being stopped, print why it ended; if it
        ended before all were ready, stop all nodes and return another status than 0."""
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
        if len(self._addresses) < len(self._children):
            why = self._last_words(node) or f"{_ending(status)}, see {self._log(node)}"
            print(f"{SAID}node {node} cannot start: {why}", file=sys.stderr)
            self._stop()  # without this node the cluster is incomplete
            return status if status > 0 else INCOMPLETE
        print(
            f"{SAID}node {node} has ended, {_ending(status)}, see {self._log(node)}; to start it"
            f" again: touchstone serve --config-file {self._data / f'{node}.properties'}",
            file=sys.stderr,
        )
        return max(status, 0)

    def _last_words(self, node: int) -> str | None:
        """Return the sentence that a node has logged last, or None if its log does not end with one
        of `touchstone serve`."""
        lines = self._log(node).read_text("utf-8", "replace").splitlines()
        said = [line.removeprefix(SAID) for line in lines[-1:] if line.startswith(SAID)]
        return said[0] if said else None

    def _stop(self) -> None:
        """End all nodes at once, without the controlled shutdown that SIGTERM starts: no node is
        left to take over leaderships. Kill those that have not ended after STOP_S."""
        self._is_stopping = True
        self._pipe.close()
        asyncio.get_running_loop().call_later(STOP_S, self._kill)

    def _kill(self) -> None:
        for child in self._children.values():
            if child.returncode is None:
                child.kill()


def _ending(status: int) -> str:
    """Return how a process has ended: its exit status, or the signal that killed it."""
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"


async def _started(options: Sequence[str], watched: int, log: Path) -> asyncio.subprocess.Process:
    """Start the process of a node, whose standard error is appended to `log`. It ends when no
    process holds the pipe open any more."""
    command = [sys.executable, "-m", "reference_impl.host", *options]
    with log.open("ab") as stderr:
        return await asyncio.create_subprocess_exec(
            *command,
            f"--until-closed={watched}",
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            pass_fds=(watched,),
        )


def _controllers(size: Size) -> int:
    if not 1 <= size.nodes <= NODES_MAX:
        raise BadConfig(f"--nodes {size.nodes}: give a number from 1 to {NODES_MAX}")
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


def _ports(first: int, count: int) -> list[int]:
    """Return the ports from the first one on or, if that is 0, ports that are free at this moment.
    Raise BadConfig if the last would be above 65535, OSError if too few are free."""
    if first + count - 1 > 65535:
        raise BadConfig(
            f"--port {first}: these nodes need {count} ports in a row; give at most {65536 - count}"
        )
    if first:
        return list(range(first, first + count))
    return free_ports(count)
