"""A KRaft cluster of child processes: its addresses, its links, and how its controller is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from chaos.means.connection import WireError
from chaos.means.links import LinkError, Links, toxiproxy_server
from chaos.targets.clusters import layout as layouts
from chaos.targets.clusters import probe, roles
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.listeners import by_name
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import performers_of
from chaos.values.faults import Fault
from chaos.values.protocols import TargetError
from chaos.world import Address, joined


class KraftCluster(LocalCluster):
    """A KRaft cluster. Since Metadata names any broker as the controller, the controllers
    themselves are asked for the leader."""

    def __init__(
        self,
        named: tuple[str, str],
        members: Sequence[LocalNode],
        faults: frozenset[type[Fault]],
        network: tuple[Layout, Links | None],
        added: Iterable[Mapping[str, str]],
    ) -> None:
        """Create a cluster that has not started. named: the names of the target and its version.
        network: its addresses, and its links or None. added: the additional listeners of each
        node, name -> host:port."""
        self.layout, links = network
        advertised = (self.layout.advertised("CLIENT", n) for n in self.layout.numbers())
        bootstrap = ",".join(map(joined, advertised))
        super().__init__(*named, bootstrap, members, performers_of(faults), links)
        self.listeners = by_name(added)

    def controller(self) -> int | None:
        """Return the node number of the metadata quorum's leader in the newest known epoch, or None
        if no reachable node names one (KIP-595)."""
        return newest_leader(self.layout.bound("CONTROLLER", node) for node in self.reachable())

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            self.layout.release()


def newest_leader(controllers: Iterable[Address]) -> int | None:
    """Return the node id of the metadata quorum's leader, according to the controller that knows
    the newest epoch, or None if no controller names a leader."""
    found: list[tuple[int, int]] = []
    for address in controllers:
        with suppress(WireError):
            answer = probe.quorum_leader(address, roles.ASK_TIMEOUT_S)
            if answer is not None:
                found.append(answer)
    return max(found)[1] if found else None


def laid_out(
    target: str, directory: Path, nodes: int, proxied: bool
) -> tuple[Layout, Links | None]:
    """Return the addresses of a new cluster on loopback, and its links (None unless `proxied`),
    with toxiproxy running. Raise TargetError if toxiproxy is missing or does not start, or if no
    address is free; its log is in `directory`/nodes."""
    try:
        if proxied:
            toxiproxy_server()
        layout = layouts.proxied(nodes) if proxied else layouts.plain(nodes)
    except LinkError as error:
        raise TargetError(str(error)) from error
    if not proxied:
        return layout, None
    with undone_on_failure(target, layout, None):
        links = Links.start(layout.proxy_api, directory / "nodes" / "toxiproxy.log")
    with undone_on_failure(target, layout, links):
        links.add(layout.links())
    return layout, links


@contextmanager
def undone_on_failure(target: str, layout: Layout, links: Links | None) -> Iterator[None]:
    """Stop the links and release the addresses if the block fails. Raise TargetError, with the name
    of the target, in place of a LinkError or OSError; raise any other error as it is."""
    try:
        yield
    except BaseException as error:
        if links is not None:
            links.stop()
        layout.release()
        if isinstance(error, LinkError | OSError):
            raise TargetError(f"{target} cannot be started: {error}") from error
        raise
