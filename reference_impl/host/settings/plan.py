"""The options of `touchstone serve`, checked and put together: the plan of one node."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from reference_impl.bugs.cluster import BROKER_BUGS
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import of_internal_topics
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import uuid_of, uuid_text
from reference_impl.core.security.listeners import Listener

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 9092


@dataclass(frozen=True)
class Surroundings:
    """The options that a node needs only if it is one of several."""

    cluster_id: str | None = None
    """The id of the cluster for which a data directory without an owner is formatted."""
    first_voters: str | None = None
    """The voters for whom a data directory without an owner is formatted, as
    ID@host:port:DIRECTORY,…; "" stands for this node alone (KIP-853)."""
    resolve: Mapping[str, str] = field(default_factory=dict)
    """Host name -> address of other nodes, used before the system's resolver."""
    until_closed: int | None = None
    """The descriptor of a pipe: this process ends when the process that has started it, and holds
    the other end open, does."""


@dataclass(frozen=True)
class Plan:
    """The validated settings from the command line."""

    config: BrokerConfig
    listeners: tuple[Listener, ...]
    directory: Path
    bug: str | None
    surroundings: Surroundings
    is_temporary: bool = False
    """Whether the directory was made for this node because none was named."""


def parse_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """Return the pairs key=value of --config as a dict; a later pair wins. Raise BadConfig for a
    pair without a key or a "="."""
    found = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise BadConfig(f"--config {pair}: write it as KEY=VALUE, for example num.partitions=3")
        found[key.strip()] = value
    return found


def make_plan(
    port: int | None, data: str | None, config: Mapping[str, str], bug: str | None
) -> Plan:
    """Return the plan of a node after all options were checked together. Create a temporary data
    directory if none is named. Raise BadConfig if an option is wrong or contradicts another."""
    check_bug(bug)
    check_port(port)
    asked = BrokerConfig.of(config)
    first = (*asked.listeners(), *asked.controller_listeners())[0]
    if "listeners" in config and port is not None and port != first.endpoint.port:
        raise BadConfig(
            f"--port {port} contradicts listeners={config['listeners']}: give only one of them"
        )
    directory = chosen_directory(data, config)
    # Command-line options count as configuration, too: DescribeConfigs reports them.
    where = f"{first.name}://{DEFAULT_HOST}:{DEFAULT_PORT if port is None else port}"
    place = asked.membership()
    copies = of_internal_topics(1) if place.is_alone and not place.voters else {}
    given = {"listeners": where, **copies, **config}
    if not config.get("log.dir"):
        given["log.dirs"] = str(directory)
    broker = BrokerConfig.of(given)
    return Plan(
        broker,
        broker.listeners() + broker.controller_listeners(),
        directory,
        bug,
        Surroundings(),
        is_temporary=data is None and not (config.get("log.dirs") or config.get("log.dir")),
    )


def check_cluster_id(cluster_id: str | None) -> None:
    """Raise BadConfig for a text that is not a cluster id. Accept None and "", which stand for no
    id."""
    try:
        uuid_of(cluster_id or uuid_text(UUID(int=0)))
    except ValueError:
        raise BadConfig(
            f"--cluster-id {cluster_id}: an id has 22 letters, digits, dashes and underscores, for"
            " example MkU3OEVBNTcwNTJENDM2Qk"
        ) from None


def check_bug(bug: str | None) -> None:
    """Raise BadConfig for a bug that is not among those that can be planted. Accept None."""
    if bug is not None and bug not in BROKER_BUGS:
        raise BadConfig(
            f"--bug {bug}: there is no such bug; there are {', '.join(sorted(BROKER_BUGS))}"
        )


def check_port(port: int | None) -> None:
    """Raise BadConfig for a number that is not a port. Accept 0 and None."""
    if port is not None and not 0 <= port <= 65535:
        raise BadConfig(f"--port {port}: a port is a number from 0 to 65535")


def chosen_directory(data: str | None, config: Mapping[str, str]) -> Path:
    """Return the data directory: that of --data or of log.dirs, else a temporary one, which is
    created and named on standard error. Raise BadConfig if the two differ or are several."""
    wanted = config.get("log.dirs") or config.get("log.dir")
    if data is not None and wanted is not None and data != wanted:
        raise BadConfig(f"--data {data} contradicts log.dirs={wanted}: give only one of them")
    chosen = data or wanted
    if chosen is None:
        chosen = tempfile.mkdtemp(prefix="touchstone-")
        print(f"no --data given: the data is in {chosen}", file=sys.stderr)
    elif "," in chosen:
        raise BadConfig(f"log.dirs={chosen}: this broker has one data directory; give one")
    return Path(chosen)
