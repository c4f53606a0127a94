"""Three small nodes behind the same layout and links as three nodes of Apache Kafka."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from chaos import leftovers
from chaos.faults import DISK_FAULTS, Fault, Heal
from chaos.links import Address, LinkError, Links, joined
from chaos.probes import small_node
from chaos.protocols import TargetError
from chaos.targets import layout as layouts
from chaos.targets.apache import FAULTS as APACHE_FAULTS
from chaos.targets.cluster import LocalCluster, LocalNode
from chaos.targets.layout import LISTENERS, Layout
from chaos.targets.probe import NoAnswer

NODES = 3
ASK_TIMEOUT_S = 60.0
FAULTS: frozenset[type[Fault]] = APACHE_FAULTS - DISK_FAULTS | {Heal}


class SmallCluster(LocalCluster):
    """Ready when every node says PONG; it speaks no Kafka."""

    layout: Layout

    def _not_ready(self) -> str:
        silent = [n for n in self.reachable() if not self._answers(n)]
        return f"nodes {silent} do not answer" if silent else ""

    def alive(self) -> bool:
        return all(m.running and not m.paused and self._answers(m.number) for m in self.members())

    def _answers(self, node: int) -> bool:
        try:
            return self.order(node, "PING", 1.0) == "PONG"
        except OSError:
            return False

    def order(self, node: int, line: str, timeout_s: float = ASK_TIMEOUT_S) -> str:
        """Send a node one line, past every proxy; its answer."""
        with socket.create_connection(self.direct(node), timeout=timeout_s) as connection:
            connection.sendall(line.encode() + b"\n")
            return connection.makefile().readline().strip()

    def dial(self, source: int, to: int, seconds: float, listener: str = "INTERNAL") -> str:
        """What a node tells of another that it dials: answered, refused or silent."""
        host, port = self.where(source, to, listener)
        return self.order(source, f"DIAL {host} {port} {seconds}").split()[0]

    def send(self, source: int, to: int, size_bytes: int) -> int:
        """How many milliseconds so many bytes and an answer took; DIAL's wait at most."""
        host, port = self.where(source, to, "INTERNAL")
        answer = self.order(source, f"SEND {host} {port} {ASK_TIMEOUT_S} {size_bytes}")
        if not answer.startswith("answered "):
            raise NoAnswer(f"{source} sent {size_bytes} bytes to {to} and was {answer}")
        return int(answer.split()[1])

    def where(self, source: int, to: int, listener: str) -> Address:
        """Where a node finds another, as its hosts file has it."""
        return f"127.{self.layout.network}.{source}.{to}", self.layout.port(listener, to)

    def stop(self) -> None:
        super().stop()
        self.layout.release()


def start(directory: Path) -> SmallCluster:
    """Start three of them, every link proxied. Raises TargetError."""
    leftovers.remove()
    layout = layouts.proxied(NODES)
    try:
        links = Links.start(layout.proxy_api, directory / "nodes" / "toxiproxy.log")
    except (LinkError, OSError) as error:
        layout.release()
        raise TargetError(str(error)) from error
    members = [_node(layout, number, directory) for number in layout.numbers()]
    bootstrap = ",".join(joined(layout.advertised("CLIENT", n)) for n in layout.numbers())
    cluster = SmallCluster("small nodes", "1", bootstrap, members, FAULTS, links)
    cluster.layout = layout
    try:
        links.add(layout.links())
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _node(layout: Layout, number: int, directory: Path) -> LocalNode:
    addresses = [joined(layout.bound(listener, number)) for listener in LISTENERS]
    command = [sys.executable, "-I", "-S", small_node.__file__, *addresses]
    home = directory / "nodes" / str(number)
    return LocalNode(number, command, layout.bound("CLIENT", number), home)
