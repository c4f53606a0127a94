"""The commands of nodes that Docker Compose, SSH or Kubernetes runs, from one name of each node.

    | table          | a node's key | gives                                                 |
    |----------------|--------------|-------------------------------------------------------|
    | `[compose]`    | `service`    | start, stop, kill, pause, resume                      |
    | `[ssh]`        | `host`       | the same, by systemd; with `firewall = true` also     |
    |                |              | cut, cut_clients, heal_links, by iptables             |
    | `[kubernetes]` | `pod`        | start, stop, kill: by deleting the pod, which its     |
    |                |              | StatefulSet makes again                               |

Commands that a driver does not give may stand beside its key.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.targets.foreign.commands import words_of
from chaos.targets.foreign.compose import PLUG_IN
from chaos.targets.foreign.compose import found as compose_found
from chaos.world import Address

Commands = dict[str, tuple[str, ...]]
"""Key of a `[[node]]` -> the words of its command."""
DROP_OR_REFUSE = (
    "case {how} in refuse) how='REJECT --reject-with tcp-reset';; *) how=DROP;; esac; "
    "for list in INPUT OUTPUT; do iptables -w -N touchstone-$list 2>/dev/null; "
    "iptables -w -C $list -j touchstone-$list 2>/dev/null"
    " || iptables -w -I $list -j touchstone-$list || exit 1; done; "
)
"""Shell commands that create Touchstone's own iptables chains, and choose the rules' target."""
CUT = DROP_OR_REFUSE + (
    "iptables -w -A touchstone-OUTPUT -p tcp -d {peer} -m conntrack --ctdir ORIGINAL -j $how"
)
"""The command that stops connections which this host opens to the peer, not the reverse."""
HEAL = (
    "for list in INPUT OUTPUT; do iptables -w -D $list -j touchstone-$list; "
    "iptables -w -F touchstone-$list; iptables -w -X touchstone-$list; done 2>/dev/null; true"
)
POD_TRIES = 30
"""The number of attempts, one a second, to find a pod; after the last, report kubectl's error."""


class BadDriver(Exception):
    """Raised for a wrong key in a driver's table; the message continues a sentence that begins with
    the file's name."""


@dataclass(frozen=True)
class Place:
    """The address of one node, the addresses of the others, and the folder of the cluster's
    file."""

    address: Address
    others: Sequence[Address]
    folder: Path


@dataclass(frozen=True)
class Driver:
    """One way to control nodes: by Docker Compose, SSH or Kubernetes."""

    key: str
    """The key of a `[[node]]` table that names the node to this driver, such as `service`."""
    table_keys: Mapping[str, type]
    commands: Callable[[Mapping[str, Any], str, Place], Commands]
    """A function that takes the driver's table, the node's name and its Place, and returns the
    commands for that node."""
    needs_table: bool = False


def _compose(table: Mapping[str, Any], service: str, place: Place) -> Commands:
    if "file" not in table:
        raise BadDriver("compose: file is missing: name the Compose file")
    file = place.folder / table["file"]
    if not file.is_file():
        raise BadDriver(f"compose: file = {table['file']!r} is not there: name a Compose file")
    program = _program("compose", table.get("command") or compose_found() or PLUG_IN)
    project = ("-p", table["project"]) if "project" in table else ()
    verbs = {"start": "start", "stop": "stop", "kill": "kill", "pause": "pause"}
    verbs["resume"] = "unpause"
    return {
        key: (*program, "-f", str(file), *project, verb, service) for key, verb in verbs.items()
    }


def _ssh(table: Mapping[str, Any], host: str, place: Place) -> Commands:
    program = _program("ssh", table.get("command") or "ssh -o BatchMode=yes")
    unit = shlex.quote(table.get("unit", "kafka"))

    def there(script: str) -> tuple[str, ...]:
        return (*program, host, script)  # the remote shell splits it into words

    found = {
        "start": there(f"systemctl start {unit}"),
        "stop": there(f"systemctl stop {unit}"),
        # A stopped unit does not start its process again (Restart= of systemd.service).
        "kill": there(f"systemctl kill --signal=KILL {unit} && systemctl stop {unit}"),
        "pause": there(f"systemctl kill --signal=STOP {unit}"),
        "resume": there(f"systemctl kill --signal=CONT {unit}"),
    }
    if table.get("firewall", False):
        found |= {
            "cut": there(CUT),
            "cut_clients": there(_cut_clients(place)),
            "heal_links": there(HEAL),
        }
    return found


def _cut_clients(place: Place) -> str:
    """Return the shell commands that stop connections to the node's address, except those of other
    nodes."""
    friends = "".join(
        f"iptables -w -A touchstone-INPUT -p tcp -s {shlex.quote(host)} -j RETURN && "
        for host, _ in place.others
    )
    return (
        f"{DROP_OR_REFUSE}{friends}"
        f"iptables -w -A touchstone-INPUT -p tcp --dport {place.address[1]} -j $how"
    )


def _kubernetes(table: Mapping[str, Any], pod: str, place: Place) -> Commands:
    program = _program("kubernetes", table.get("command") or "kubectl")
    for option in ("context", "namespace"):
        if option in table:
            program = (*program, f"--{option}", table[option])
    # After a delete there is no such pod until its StatefulSet has made it again.
    wait = (*program, "wait", "--for=condition=Ready", "--timeout=50s", f"pod/{pod}")
    get = shlex.join((*program, "get", "pod", pod))
    start = (
        f"n=0; until {get} >/dev/null 2>&1; do n=$((n + 1));"
        f" [ $n -lt {POD_TRIES} ] || exec {get}; sleep 1; done; exec {shlex.join(wait)}"
    )
    delete = (*program, "delete", "pod", pod)
    return {
        "start": ("sh", "-c", start),
        "stop": (*delete, "--wait=true"),
        "kill": (*delete, "--grace-period=0", "--force"),
    }


DRIVERS: Mapping[str, Driver] = {
    "compose": Driver("service", {"file": str, "project": str, "command": str}, _compose, True),
    "ssh": Driver("host", {"command": str, "unit": str, "firewall": bool}, _ssh),
    "kubernetes": Driver("pod", {"command": str, "context": str, "namespace": str}, _kubernetes),
}
"""Name of a table in the file -> the driver that it configures."""


def _program(driver: str, text: str) -> tuple[str, ...]:
    try:
        return words_of(text)
    except ValueError as error:
        raise BadDriver(
            f"{driver}: command = {text!r} cannot be split into words ({error}): correct it"
        ) from error
