"""Links between namespaces: cut, and losing packets, by rules of each node's own firewall.

The names are those of proxied links, so the same faults mean the same links. The mechanism differs:
`blackhole` drops the packets of the link's connections in both directions, and after a heal TCP
retransmits and the connections continue; `refuse` answers packets by a reset. Slow links hold their
packets back (delays.py). The other faults that a proxy can make are impossible with packets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from chaos.means.links import LinkError, Links, Toxic
from chaos.means.netns.delays import Delays
from chaos.means.netns.namespaces import Namespaces
from chaos.values.faults import How

_BETWEEN = re.compile(r"(internal|controller)-(\d+)-(\d+)")
_CLIENT = re.compile(r"client-(\d+)")


class NamespaceLinks(Links):
    """The links of nodes that have their own namespaces. Changes of rules take effect in
    `settle`."""

    def __init__(
        self, namespaces: Namespaces, ports: Mapping[str, int], delays: Delays | None = None
    ) -> None:
        """Begin without faults. ports: listener -> port, the same on every node. delays: None where
        packets cannot be held back."""
        self.namespaces = namespaces
        self._delays = delays
        self._ports = ports
        self._rules: dict[int, list[str]] = {}
        self._unsettled: set[int] = set()
        self._troubled: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        nodes = self.namespaces.nodes
        pairs = [f"{source}-{to}" for source in nodes for to in nodes if source != to]
        listeners = ("internal", "controller")
        return (
            *(f"client-{node}" for node in nodes),
            *(f"{listener}-{pair}" for listener in listeners for pair in pairs),
        )

    def cut(self, name: str, how: How) -> None:
        """Cut one link at the end that accepts connections, from the next `settle` on. Raise
        LinkError if there is no such link."""
        self._troubled.add(name)
        source, node, port = self._ends(name)
        coming = f"-s {source} -p tcp --dport {port}"
        if how == "refuse":
            self._add(node, f"-A INPUT {coming} -j REJECT --reject-with tcp-reset")
        else:
            self._add(node, f"-A INPUT {coming} -j DROP")
            self._add(node, f"-A OUTPUT -d {source} -p tcp --sport {port} -j DROP")

    def drop_packets(self, source: int, to: int) -> None:
        """Drop the packets that one node sends another, but not those in the other direction, from
        the next `settle` on."""
        self._add(to, f"-A INPUT -s {self.namespaces.address(source)} -j DROP")

    def lose_packets(self, node: int, percent: int) -> None:
        """Lose this percentage, at random, of all packets that reach a node, from the next `settle`
        on."""
        chance = f"-m statistic --mode random --probability {percent / 100:.2f}"
        self._add(node, f"-A INPUT -i eth0 {chance} -j DROP")

    def delay_answers(self, name: str, latency_ms: int, jitter_ms: int) -> None:
        """Raise LinkError: a packet that is held back arrives even after its sender was killed."""
        raise LinkError("answers cannot be held back by packets; use --network proxy")

    def poison(self, name: str, toxic: Toxic) -> None:
        """Make one link slow, at the end that accepts connections, from the next `settle` on. Each
        packet is delayed, in both directions. Raise LinkError if the toxic is not a latency, there
        is no such link, too many latencies are in use, or packets cannot be delayed here."""
        if toxic.kind != "latency" or self._delays is None:
            raise LinkError(
                f"links between namespaces cannot have the fault {toxic.name}; use --network proxy"
            )
        self._troubled.add(name)
        latency = toxic.attributes["latency"], toxic.attributes["jitter"]
        queue = f"-j NFQUEUE --queue-num {self._delays.number_of(*latency)} --queue-bypass"
        source, node, port = self._ends(name)
        self._add(node, f"-A INPUT -s {source} -p tcp --dport {port} {queue}")
        self._add(node, f"-A OUTPUT -d {source} -p tcp --sport {port} {queue}")

    def heal(self) -> str:
        """Remove every packet rule now, then release the packets that are held back. Return "",
        since there is nothing to note. Raise LinkError if one of the two fails."""
        self._unsettled |= {node for node, rules in self._rules.items() if rules}
        self._rules.clear()
        self._troubled.clear()
        self.settle()
        if self._delays is not None:
            self._delays.heal()
        return ""

    def settle(self) -> None:
        """Set the packet rules of the nodes whose rules have changed. Call this before held packets
        are released, since a released packet passes whatever the rules say. Raise LinkError if this
        fails; the next heal then sets the rules."""
        nodes = sorted(self._unsettled)
        self.namespaces.set_rules(
            (node, sorted(self._rules.get(node, []), key=lambda rule: "NFQUEUE" in rule))
            for node in nodes
        )
        self._unsettled.difference_update(nodes)

    def stop(self) -> None:
        """Stop the delayer, then remove the namespaces."""
        if self._delays is not None:
            self._delays.stop()
        self.namespaces.remove()

    def _add(self, node: int, rule: str) -> None:
        rules = self._rules.setdefault(node, [])
        if rule not in rules:
            rules.append(rule)
            self._unsettled.add(node)

    def _ends(self, name: str) -> tuple[str, int, int]:
        """Return the address that sends over the link, the node that receives, and that node's
        port. Raise LinkError if there is no such link."""
        if client := _CLIENT.fullmatch(name):
            return self.namespaces.harness, int(client[1]), self._ports["CLIENT"]
        if between := _BETWEEN.fullmatch(name):
            listener, source, to = between.groups()
            return self.namespaces.address(int(source)), int(to), self._ports[listener.upper()]
        raise LinkError(f"there is no link {name!r}")
