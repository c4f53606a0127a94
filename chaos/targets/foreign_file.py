"""The description of a foreign cluster: a TOML file, read strictly.

    name = "my-kafka"                       # how runs and reports call it
    reset = "scripts/delete-topics.sh"      # before each run: topics of earlier runs go
    lowest_broker_id = 1                    # of the first node; the others follow

    [compose]                               # where nodes are services of Docker Compose
    file = "docker-compose.yml"
    command = "docker compose"              # unless it is what this machine has

    [[node]]                                # one for each broker, in the order of their ids
    address = "127.0.0.1:9092"              # where it answers; the only key that every node needs
    data = "/var/lib/kafka-1"               # its log directory
    log = "/var/log/kafka-1.log"            # kept with the run
    start = "systemctl start kafka@1"       # may return, or stay and be the node
    stop = "systemctl stop kafka@1"         # in an orderly way
    kill = "systemctl kill -s KILL kafka@1"
    pid_file = "/run/kafka-1.pid"           # the node's process: signals go there
    service = "kafka-1"                     # instead of commands, with [compose]

Relative paths and commands start from the folder of the file.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chaos.links import Address
from chaos.protocols import TargetError
from chaos.targets.bootstrap import addresses
from chaos.targets.compose import PLUG_IN
from chaos.targets.compose import found as compose_found

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
    "service",
)
TOP = {"name": str, "reset": str, "lowest_broker_id": int, "compose": dict, "node": list}


@dataclass(frozen=True)
class ForeignNode:
    """One node as its owner describes it; None means not given."""

    address: Address
    data: Path | None = None
    log: Path | None = None
    start: tuple[str, ...] | None = None
    stop: tuple[str, ...] | None = None
    kill: tuple[str, ...] | None = None
    pause: tuple[str, ...] | None = None
    resume: tuple[str, ...] | None = None
    pid_file: Path | None = None


@dataclass(frozen=True)
class Foreign:
    """A whole cluster, and the folder that its commands start from."""

    name: str
    folder: Path
    nodes: tuple[ForeignNode, ...]
    reset: tuple[str, ...] | None = None
    lowest_broker_id: int = 1


class Broken(Exception):
    """The problem with one key: the sentence goes on after the file's name."""


def read(path: Path) -> Foreign:
    """Read the description, or raise TargetError: one sentence with file, key, and what to do."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise TargetError(f"{path}: {why}; name a TOML file that describes a cluster") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path} is not TOML: {error}; docs/foreign.md has an example") from error
    try:
        return _foreign(table, path.resolve())
    except Broken as broken:
        raise TargetError(f"{path}: {broken}; docs/foreign.md has an example") from broken


def _foreign(table: Mapping[str, Any], path: Path) -> Foreign:
    _check_keys(table, TOP, "")
    nodes = table.get("node", [])
    if not nodes:
        raise Broken("it has no [[node]]: write one for each broker, with its address")
    compose = _compose(table.get("compose"), path.parent)
    return Foreign(
        name=table.get("name", path.stem),
        folder=path.parent,
        nodes=tuple(_node(each, n, compose, path.parent) for n, each in enumerate(nodes, 1)),
        reset=_words(table.get("reset"), "reset"),
        lowest_broker_id=table.get("lowest_broker_id", 1),
    )


def _node(
    table: Mapping[str, Any], number: int, compose: tuple[str, ...] | None, folder: Path
) -> ForeignNode:
    where = f"node {number}: "
    _check_keys(table, dict.fromkeys(NODE_TEXTS, str), where)
    if "address" not in table:
        raise Broken(f"{where}address is missing: write address = 'host:port'")
    try:
        (address,) = addresses(table["address"])
    except (TargetError, ValueError) as error:
        raise Broken(
            f"{where}address = {table['address']!r} is not one host:port: write this node's"
        ) from error

    def words(key: str) -> tuple[str, ...] | None:
        return _words(table.get(key), f"{where}{key}")

    def path(key: str) -> Path | None:
        return folder / table[key] if key in table else None

    node = ForeignNode(
        address,
        path("data"),
        path("log"),
        words("start"),
        words("stop"),
        words("kill"),
        words("pause"),
        words("resume"),
        path("pid_file"),
    )
    if "service" in table:
        return _as_service(node, table["service"], compose, where)
    if (node.pause is None) != (node.resume is None):
        raise Broken(f"{where}pause and resume go together: give both, or neither")
    if node.start is None and (node.kill or node.stop):
        raise Broken(
            f"{where}start is missing: a node that kill or stop ends could never come back"
        )
    return node


def _as_service(
    node: ForeignNode, service: str, compose: tuple[str, ...] | None, where: str
) -> ForeignNode:
    if compose is None:
        raise Broken(f"{where}service needs a [compose] table: name its file there")
    if node.start or node.stop or node.kill or node.pause or node.pid_file:
        raise Broken(f"{where}service replaces commands and pid_file: give either service or these")

    def verb(word: str) -> tuple[str, ...]:
        return (*compose, word, service)

    return replace(
        node,
        start=verb("start"),
        stop=verb("stop"),
        kill=verb("kill"),
        pause=verb("pause"),
        resume=verb("unpause"),
    )


def _compose(table: Any, folder: Path) -> tuple[str, ...] | None:
    if table is None:
        return None
    _check_keys(table, {"file": str, "project": str, "command": str}, "compose: ")
    if "file" not in table:
        raise Broken("compose: file is missing: name the Compose file")
    file = folder / table["file"]
    if not file.is_file():
        raise Broken(f"compose: file = {table['file']!r} is not there: name a Compose file")
    command = table.get("command") or compose_found() or PLUG_IN
    words = _words(command, "compose: command") or ()
    project = ("-p", table["project"]) if "project" in table else ()
    return (*words, "-f", str(file), *project)


def _words(text: str | None, key: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise Broken(f"{key} = {text!r} cannot be split into words ({error}): mend it") from error
    if not words:
        raise Broken(f"{key} is empty: write a command, or leave it out")
    return words


def _check_keys(table: Mapping[str, Any], known: Mapping[str, type], where: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise Broken(f"{where}there is no key {key!r}: use {', '.join(known)}")
        if not isinstance(value, known[key]) or isinstance(value, bool):
            kinds = {str: "text in quotes", int: "a number", dict: "a table", list: "[[…]] tables"}
            raise Broken(f"{where}{key} must be {kinds[known[key]]}: write it so")
