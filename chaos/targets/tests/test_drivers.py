"""Test that nodes run by SSH or Kubernetes get the intended commands on the other side."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from chaos.targets.foreign import drivers
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_file import read
from chaos.targets.foreign.undoings import filled
from chaos.values.protocols import TargetError

NODES = """
[[node]]
{key} = "kafka-1"
address = "10.0.0.1:9092"

[[node]]
{key} = "kafka-2"
address = "10.0.0.2:9092"
"""


def described(folder: Path, table: str, key: str) -> Path:
    file = folder / "cluster.toml"
    file.write_text(f"{table}\n{NODES.format(key=key)}")
    return file


def programs(folder: Path, **scripts: str) -> None:
    """Write programs that note how they were called, then run the given lines."""
    for name, script in scripts.items():
        file = folder / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/calls\n{script}\n')
        file.chmod(0o755)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_ssh_runs_systemctl_on_the_other_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like ssh, the stand-in joins its arguments, and a shell splits them again.
    programs(tmp_path, ssh='shift 3\nexec sh -c "$*"', systemctl="")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    node = read(described(tmp_path, '[ssh]\nunit = "kafka@1 x"', "host")).nodes[0]
    for command in (node.start, node.stop, node.kill, node.pause, node.resume):
        assert command is not None
        run(command, tmp_path)
    assert [call for call in calls(tmp_path) if call.startswith("systemctl")] == [
        "systemctl start kafka@1 x",
        "systemctl stop kafka@1 x",
        "systemctl kill --signal=KILL kafka@1 x",
        "systemctl stop kafka@1 x",
        "systemctl kill --signal=STOP kafka@1 x",
        "systemctl kill --signal=CONT kafka@1 x",
    ]
    assert calls(tmp_path)[0].startswith("ssh -o BatchMode=yes kafka-1 systemctl start")


def test_a_host_that_ssh_cannot_reach_is_named_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path, ssh='echo "ssh: connect to host kafka-1: No route to host" >&2\nexit 255')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    node = read(described(tmp_path, "", "host")).nodes[0]
    assert node.stop is not None
    with pytest.raises(TargetError, match=r"kafka-1.* status 255: .*No route to host; correct it"):
        run(node.stop, tmp_path)


def test_kubernetes_deletes_the_pod_and_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_at_second = f"[ $3 != get ] || [ $(grep -c ' get ' {tmp_path}/calls) -ge 2 ]"
    programs(tmp_path, kubectl=found_at_second)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    node = read(described(tmp_path, '[kubernetes]\nnamespace = "n"', "pod")).nodes[1]
    assert node.pause is None
    for command in (node.kill, node.stop, node.start):
        assert command is not None
        run(command, tmp_path)
    assert calls(tmp_path) == [
        "kubectl --namespace n delete pod kafka-2 --grace-period=0 --force",
        "kubectl --namespace n delete pod kafka-2 --wait=true",
        "kubectl --namespace n get pod kafka-2",
        "kubectl --namespace n get pod kafka-2",
        "kubectl --namespace n wait --for=condition=Ready --timeout=50s pod/kafka-2",
    ]


def test_a_pod_that_there_is_not_is_told_in_the_words_of_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path, kubectl="echo 'pods \"kafka-2\" not found' >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(drivers, "POD_TRIES", 1)
    node = read(described(tmp_path, "", "pod")).nodes[1]
    assert node.start is not None
    with pytest.raises(TargetError, match='status 1: pods "kafka-2" not found; correct it'):
        run(node.start, tmp_path)


@pytest.mark.needs("netns")
@pytest.mark.parametrize(
    ("how", "ends_with"),
    [("blackhole", "-j DROP"), ("refuse", "-j REJECT --reject-with tcp-reset")],
)
def test_a_firewall_gets_lists_of_its_own_and_loses_them(
    how: str, ends_with: str, tmp_path: Path
) -> None:
    """The firewall rules are set in a network namespace that only this test uses."""
    faults = read(described(tmp_path, "[ssh]\nfirewall = true", "host")).nodes[0].faults
    holes = {"peer": "10.0.0.2", "peer_port": 9092, "how": how}
    scripts = [filled(faults[key][-1:], holes)[0] for key in ("cut", "cut_clients", "cut")]
    steps = ["iptables -A INPUT -s 10.9.9.9 -j ACCEPT", *scripts, "iptables -S"]
    steps += ["echo healed", *faults["heal_links"][-1:], "iptables -S"]
    done = subprocess.run(
        ["unshare", "-n", "sh", "-ec", "\n".join(f"sh -c {shlex.quote(step)}" for step in steps)],
        capture_output=True,
        text=True,
        check=True,
    )
    struck, healed = done.stdout.split("healed\n")
    assert struck.count("-j touchstone-OUTPUT\n") == struck.count("-j touchstone-INPUT\n") == 1
    rules = [line for line in struck.splitlines() if line.startswith("-A touchstone")]
    assert rules == [
        "-A touchstone-INPUT -s 10.0.0.2/32 -p tcp -j RETURN",
        f"-A touchstone-INPUT -p tcp -m tcp --dport 9092 {ends_with}",
        *[f"-A touchstone-OUTPUT -d 10.0.0.2/32 -p tcp -m conntrack --ctdir ORIGINAL {ends_with}"]
        * 2,
    ]
    assert "touchstone" not in healed
    assert "-A INPUT -s 10.9.9.9/32 -j ACCEPT" in healed


def test_every_driver_names_nodes_by_a_key_of_its_own() -> None:
    keys = [driver.key for driver in drivers.DRIVERS.values()]
    assert len(set(keys)) == len(keys)
