"""The description of a foreign cluster: a TOML file, read strictly.

    name = "my-kafka"                       # how runs and reports call it
    bootstrap = "kafka-1:9092"              # enough where nodes are only asked, not struck
    reset = "scripts/delete-topics.sh"      # before each run

    [client]                                # how clients get in (client_table.py)
    security.protocol = "SSL"

    [compose]                               # or [ssh], [kubernetes]: where nodes run (drivers.py)
    file = "docker-compose.yml"

    [[node]]                                # one for each broker
    address = "127.0.0.1:9092"              # where it answers; the only key that every node needs
    id = 1                                  # its broker id, where Metadata names another address
    data = "/var/lib/kafka-1"               # its log directory
    log = "/var/log/kafka-1.log"            # kept with the run
    start = "systemctl start kafka@1"       # may return, or stay and be the node
    stop = "systemctl stop kafka@1"         # in an orderly way
    kill = "systemctl kill -s KILL kafka@1"
    pid_file = "/run/kafka-1.pid"           # the node's process: signals go there
    service = "kafka-1"                     # instead of commands, with [compose]; host, pod
    cut = "sh cut.sh 1 {peer}"              # and more faults: the table in foreign_faults.py
    heal_links = "sh heal.sh 1"

Relative paths and commands start from the folder of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.targets.bootstrap import addresses
from chaos.targets.foreign.client_table import BadClientTable, ClientTable, read_client
from chaos.targets.foreign.commands import words_of
from chaos.targets.foreign.drivers import DRIVERS, BadDriver, Commands, Place
from chaos.values.protocols import TargetError
from chaos.world import Address

NODE_TEXTS = (
    "address",
    "data",
    "log",
    "start",
    "stop",
    "kill",
    "pause",
    "resume",
    "pid_file",
    *(driver.key for driver in DRIVERS.values()),
)
FAULT_COMMANDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cut": ("heal_links", ("{peer}",)),
    "cut_clients": ("heal_links", ()),
    "slow_links": ("heal_links", ("{ms}",)),
    "fill_disk": ("free_disk", ()),
    "stall_disk": ("release_disk", ()),
    "lose_power": ("start", ()),
    "set_clock": ("reset_clock", ("{ms}",)),
}
"""A command that begins a fault -> the command that ends it, and the placeholders that its words
must contain."""
UNDOING = tuple(dict.fromkeys(undo for undo, _ in FAULT_COMMANDS.values() if undo != "start"))
NODE_KEYS: Mapping[str, type] = {
    **dict.fromkeys((*NODE_TEXTS, *FAULT_COMMANDS, *UNDOING), str),
    "id": int,
}
TOP = {
    "name": str,
    "bootstrap": str,
    "reset": str,
    "lowest_broker_id": int,
    "client": dict,
    **dict.fromkeys(DRIVERS, dict),
    "node": list,
}


@dataclass(frozen=True)
class ForeignNode:
    """One node as its owner describes it; a field is None if it is not given."""

    address: Address
    data: Path | None = None
    log: Path | None = None
    start: tuple[str, ...] | None = None
    stop: tuple[str, ...] | None = None
    kill: tuple[str, ...] | None = None
    pause: tuple[str, ...] | None = None
    resume: tuple[str, ...] | None = None
    pid_file: Path | None = None
    broker_id: int | None = None
    faults: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> the words of each given command out of FAULT_COMMANDS and UNDOING."""


@dataclass(frozen=True)
class Foreign:
    """The description of a foreign cluster; its commands run in `folder`."""

    name: str
    folder: Path
    nodes: tuple[ForeignNode, ...]
    """The nodes in the file. If only `bootstrap` is given this is empty, and the brokers are those
    that Metadata names."""
    seeds: tuple[Address, ...]
    client: ClientTable
    reset: tuple[str, ...] | None = None
    lowest_broker_id: int | None = None


class Broken(Exception):
    """Raised for a wrong key of the file; the message continues a sentence that begins with the
    file's name."""


def read(path: Path) -> Foreign:
    """Return the description in a file. Raise TargetError with one sentence that names file, key,
    and what to do."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise TargetError(f"{path}: {why}; name a TOML file that describes a cluster") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path} is not TOML: {error}; docs/foreign.md has an example") from error
    try:
        return _foreign(table, path.resolve())
    except (Broken, BadClientTable, BadDriver) as broken:
        raise TargetError(f"{path}: {broken}; docs/foreign.md has an example") from broken


def _foreign(table: Mapping[str, Any], path: Path) -> Foreign:
    _check_keys(table, TOP, "")
    nodes = table.get("node", [])
    if not nodes and "bootstrap" not in table:
        raise Broken(
            "it has no bootstrap and no [[node]]: write bootstrap = 'host:port', or a [[node]] for"
            " each broker, with its address"
        )
    if not all(isinstance(each, dict) for each in nodes):
        raise Broken("node must be [[…]] tables: write it so")
    for name, driver in DRIVERS.items():
        _check_keys(table.get(name, {}), driver.table_keys, f"{name}: ")
        if name in table and not any(driver.key in node for node in nodes):
            raise Broken(f"[{name}] is of no use: write {driver.key} = '…' into the [[node]]s")
    where = [_address(each, f"node {n}: ") for n, each in enumerate(nodes, 1)]
    read_nodes = tuple(
        _node(each, n, where, _driven(each, n, where, table, path.parent), path.parent)
        for n, each in enumerate(nodes, 1)
    )
    return Foreign(
        name=table.get("name", path.stem),
        folder=path.parent,
        nodes=read_nodes,
        seeds=_seeds(table, read_nodes),
        client=read_client(table.get("client"), path.parent),
        reset=_words(table.get("reset"), "reset"),
        lowest_broker_id=table.get("lowest_broker_id"),
    )


def _seeds(table: Mapping[str, Any], nodes: tuple[ForeignNode, ...]) -> tuple[Address, ...]:
    """Return the bootstrap addresses for clients: `bootstrap`, or those of all nodes. Raise Broken
    if `bootstrap` is not host:port[,host:port]."""
    if "bootstrap" not in table:
        return tuple(node.address for node in nodes)
    try:
        return tuple(addresses(table["bootstrap"]))
    except (TargetError, ValueError) as error:
        raise Broken(
            f"bootstrap = {table['bootstrap']!r} is not host:port[,host:port]: write it so"
        ) from error


def _address(table: Mapping[str, Any], where: str) -> Address:
    """Return the address of one node. Raise Broken if it is missing or is not one host:port, or if
    the node has an unknown key. where: the beginning of messages about the node."""
    _check_keys(table, NODE_KEYS, where)
    if "address" not in table:
        raise Broken(f"{where}address is missing: write address = 'host:port'")
    try:
        (address,) = addresses(table["address"])
    except (TargetError, ValueError) as error:
        raise Broken(
            f"{where}address = {table['address']!r} is not one host:port: write this node's"
        ) from error
    return address


def _driven(
    node: Mapping[str, Any],
    number: int,
    all_addresses: Sequence[Address],
    file: Mapping[str, Any],
    folder: Path,
) -> Commands:
    """Return the commands of a node that a driver (Compose, SSH, Kubernetes) runs, or no commands
    if no driver runs it. Raise Broken if the node names several drivers, lacks the driver's table,
    or also gives a command that the driver replaces."""
    where = f"node {number}: "
    named = [name for name, driver in DRIVERS.items() if driver.key in node]
    if not named:
        return {}
    keys = [DRIVERS[name].key for name in named]
    if len(named) > 1:
        raise Broken(f"{where}{' and '.join(keys)} exclude each other: give one")
    (name,), (key,) = named, keys
    if name not in file and DRIVERS[name].needs_table:
        raise Broken(f"{where}{key} needs a [{name}] table: add one that names the file")
    own = all_addresses[number - 1]
    others = [address for address in all_addresses if address != own]
    found = DRIVERS[name].commands(file.get(name, {}), node[key], Place(own, others, folder))
    for given in (*found, "pid_file"):
        if given in node:
            raise Broken(f"{where}{key} replaces {given}: give either {key} or {given}")
    return found


def _node(
    table: Mapping[str, Any],
    number: int,
    all_addresses: Sequence[Address],
    driven: Commands,
    folder: Path,
) -> ForeignNode:
    where = f"node {number}: "

    def words(key: str) -> tuple[str, ...] | None:
        return driven.get(key) or _words(table.get(key), f"{where}{key}")

    def path(key: str) -> Path | None:
        return folder / table[key] if key in table else None

    node = ForeignNode(
        all_addresses[number - 1],
        path("data"),
        path("log"),
        words("start"),
        words("stop"),
        words("kill"),
        words("pause"),
        words("resume"),
        path("pid_file"),
        table.get("id"),
        {
            **_fault_commands(table, where),
            **{key: driven[key] for key in (*FAULT_COMMANDS, *UNDOING) if key in driven},
        },
    )
    if (node.pause is None) != (node.resume is None):
        raise Broken(f"{where}pause and resume go together: give both, or neither")
    if node.start is None and (node.kill or node.stop or "lose_power" in node.faults):
        raise Broken(
            f"{where}start is missing: a node that kill, stop or lose_power ends could never come"
            " back; give it"
        )
    return node


def _fault_commands(table: Mapping[str, Any], where: str) -> dict[str, tuple[str, ...]]:
    """Return the commands that begin faults and those that end them. Raise Broken for one without
    the other, or without a required placeholder."""
    found = {}
    for key, (undo, holes) in FAULT_COMMANDS.items():
        if key not in table:
            continue
        if undo not in table and undo != "start":
            raise Broken(f"{where}{key} needs {undo}, or it would never end: give both")
        for hole in holes:
            if hole not in table[key]:
                raise Broken(f"{where}{key} has no {hole} in it: write it where it is to go")
        found[key] = _words(table[key], f"{where}{key}") or ()
    for undo in UNDOING:
        if undo not in table:
            continue
        ended = [key for key, (ends, _) in FAULT_COMMANDS.items() if ends == undo]
        if not any(key in table for key in ended):
            raise Broken(f"{where}{undo} ends nothing: give {' or '.join(ended)} too")
        found[undo] = _words(table[undo], f"{where}{undo}") or ()
    return found


def _words(text: str | None, key: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    if not text.strip():
        raise Broken(f"{key} is empty: write a command, or leave it out")
    try:
        return words_of(text)
    except ValueError as error:
        raise Broken(
            f"{key} = {text!r} cannot be split into words ({error}): correct it"
        ) from error


def _check_keys(table: Mapping[str, Any], known: Mapping[str, type], where: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise Broken(f"{where}there is no key {key!r}: use {', '.join(known)}")
        if type(value) is not known[key]:
            kinds = {
                bool: "true or false",
                str: "text in quotes",
                int: "a number",
                dict: "a table",
                list: "[[…]] tables",
            }
            raise Broken(f"{where}{key} must be {kinds[known[key]]}: write it so")
