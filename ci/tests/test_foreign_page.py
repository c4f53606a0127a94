"""docs/foreign.md says what is true: its files are accepted, its table is what is offered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.nemeses import NEMESES
from chaos.targets.foreign.foreign_file import read
from chaos.targets.foreign.target import faults_of
from chaos.values.fault_kinds import ADMIN_FAULTS
from chaos.values.faults import Fault, Heal
from ci import places

PAGE = (places.ROOT / "docs" / "foreign.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
ALWAYS = {Heal, *ADMIN_FAULTS}
VALUES = {
    "pid_file": "node.pid",
    "cut": "sh cut.sh {peer}",
    "slow_links": "sh slow.sh {ms}",
    "service": "kafka-1",
    "host": "kafka-1",
    "pod": "kafka-1",
    "set_clock": "sh clock.sh {ms}",
}
ALTERNATIVES: dict[str, list[tuple[str, ...]]] = {
    "`start`, with `kill` or `pid_file`": [("start", "kill"), ("start", "pid_file")],
    "`start`, with `stop` or `pid_file`": [("start", "stop"), ("start", "pid_file")],
    "`pid_file`, or `pause` and `resume`": [("pid_file",), ("pause", "resume")],
    "`fill_disk` and `free_disk`; `stall_disk` and `release_disk`": [
        ("fill_disk", "free_disk", "stall_disk", "release_disk")
    ],
    "both of these": [("cut", "cut_clients", "heal_links")],
    "`service`, with a `[compose]` table": [("service",)],
    "`host`, reached by SSH": [("host",)],
    "`host`, with `firewall = true` in `[ssh]`": [("host", "firewall")],
    "`pod`, of Kubernetes": [("pod",)],
}
"""Rows of the table that are more than a list of what must be given together."""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_file_on_the_page_is_accepted(number: int, tmp_path: Path) -> None:
    text = EXAMPLES[number]
    for named in ("ca.pem", "docker-compose.yml"):
        (tmp_path / named).write_text("services: {kafka-1: {}}\n")
    if "bootstrap" not in text and "[[node]]" not in text:
        pytest.fail("a block of TOML that describes no cluster")
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    assert read(file)


def rows() -> list[tuple[str, set[str], list[str]]]:
    """Return the rows of the page's table: the keys, the faults, the nemeses."""
    table = PAGE[PAGE.index("| keys | faults |") :].split("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in table)
    return [
        (given, set(re.findall(r"`(\w+)`", faults)), re.findall(r"`([\w-]+)`", nemeses))
        for given, faults, nemeses in cells
    ]


def offered(keys: tuple[str, ...], folder: Path) -> frozenset[type[Fault]]:
    """Return the faults of a cluster whose nodes have these keys."""
    lines = ["[[node]]", 'address = "127.0.0.1:9092"']
    of_node = [key for key in keys if key not in ("address", "firewall")]
    lines += [f'{key} = "{VALUES.get(key, f"sh {key}.sh")}"' for key in of_node]
    if "firewall" in keys:
        lines = ["[ssh]", "firewall = true", *lines]
    if "service" in keys:
        (folder / "docker-compose.yml").write_text("services: {kafka-1: {}}\n")
        lines = ["[compose]", 'file = "docker-compose.yml"', *lines]
    file = folder / "cluster.toml"
    file.write_text("\n".join(lines))
    return faults_of(read(file))


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row[0]))
def test_what_is_given_offers_the_faults_of_the_table(
    row: tuple[str, set[str], list[str]], tmp_path: Path
) -> None:
    given, faults, nemeses = row
    plain = re.sub(r" with `\{\w+\}`( \(signed\))?,?", "", given)
    keys = tuple(re.findall(r"`(\w+)`", plain))
    for chosen in ALTERNATIVES.get(given, [keys]):
        found = offered(chosen, tmp_path)
        assert faults <= {fault.__name__ for fault in found}, (chosen, found)
        for name in nemeses:
            lacking = {fault.__name__ for fault in NEMESES[name].faults - found}
            assert not lacking, f"{name} lacks {lacking} where {chosen} are given"


def test_without_commands_a_cluster_can_be_administered_alone(tmp_path: Path) -> None:
    assert offered(("address",), tmp_path) == ALWAYS
