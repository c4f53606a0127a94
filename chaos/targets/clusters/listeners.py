"""Add listeners to those of a target, such as ones with SASL or TLS. Names: Kafka's broker
configuration.

A target lays out its own listeners. The `listeners` in a user's configuration are added to them,
and so are `advertised.listeners` and `listener.security.protocol.map`. Port 0 stands for a free
port, as in Kafka; it is chosen beforehand, since a restarted broker must listen where clients
expect it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chaos.means.ports import free_ports
from chaos.values.protocols import TargetError
from chaos.world import joined

LISTENERS, ADVERTISED = "listeners", "advertised.listeners"
PROTOCOLS = "listener.security.protocol.map"
NODE = "{node}"
"""The placeholder for the node's number in a setting, for example in broker.rack."""


def with_listeners(
    own: Mapping[str, str], asked: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of one node, and name -> host:port of each requested listener ({} if none
    is requested). Requested settings override the target's own, except that listeners are added to
    them; "{node}" in a requested setting stands for the node's number. Raise TargetError for
    listeners that are not NAME://host:port[,…]."""
    number = own.get("node.id", "1")
    asked = {key: value.replace(NODE, number) for key, value in asked.items()}
    settings = {**own, **asked}
    if LISTENERS not in asked:
        return settings, {}
    added = _placed(asked[LISTENERS])
    urls = ",".join(f"{name}://{where}" for name, where in added.items())
    settings[LISTENERS] = _joined(own.get(LISTENERS), urls)
    settings[ADVERTISED] = _joined(own.get(ADVERTISED), asked.get(ADVERTISED, urls))
    settings[PROTOCOLS] = _joined(own.get(PROTOCOLS), asked.get(PROTOCOLS))
    return settings, added


def by_name(nodes: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return listener name -> bootstrap addresses. nodes: the listeners of each node, as listener
    name -> address."""
    found: dict[str, str] = {}
    for listeners in nodes:
        for name, where in listeners.items():
            found[name] = _joined(found.get(name), where)
    return found


def _placed(text: str) -> dict[str, str]:
    """Parse NAME://host:port[,…] into name -> host:port, and replace each port 0 by a free one.
    Raise TargetError for any other text."""
    found = {}
    for url in text.split(","):
        name, separator, where = url.strip().partition("://")
        host, _, port = where.rpartition(":")
        if not (separator and name and host and port.isdigit()):
            raise TargetError(f"{LISTENERS}={text}: write each as NAME://host:port")
        number = int(port) or free_ports(1, host.strip("[]"))[0]
        found[name] = joined((host, number))
    return found


def _joined(*lists: str | None) -> str:
    return ",".join(text for text in lists if text)
