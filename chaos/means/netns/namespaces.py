"""One network namespace for each node, and a bridge in a hub namespace between them.

The bridge is in a namespace of its own, so that neither the machine's firewall nor Docker's rules
affect its traffic; the harness and its clients reach the nodes by one more port of that bridge. All
addresses are of 198.18.0.0/15, which is set aside for tests of networks (RFC 2544).

The name of a namespace contains its owner: `touchstone-net-PID-START-NAMESPACE-NETWORK-WHO`. So the
kernel's list of names is the ledger, and what a dead owner left is found by the next command.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from chaos.means import capabilities, guard, processes
from chaos.means.links import LinkError

PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
PROGRAMS = ("ip", "nsenter", "iptables-restore")
NAMES = Path("/run/netns")
COMMAND_TIMEOUT_S = 30.0
HUB = "hub"
HARNESS_HOST = 254
RTO_MAX = "net/ipv4/tcp_rto_max_ms"
"""The kernel setting, which not every kernel has, for the longest time that TCP waits before it
retransmits. It bounds the recovery after a heal."""

_OWNED = re.compile(r"touchstone-net-(\d+-\d+-\d+)-\d+-\w+")
_lock = threading.RLock()
_living: dict[int, Namespaces] = {}


def why_none() -> str | None:
    """Return why this process cannot have network namespaces, or None if it can."""
    if not capabilities.has(capabilities.CAP_SYS_ADMIN | capabilities.CAP_NET_ADMIN):
        return (
            "network namespaces for nodes need CAP_SYS_ADMIN and CAP_NET_ADMIN; run as root, or"
            " use toxiproxy (--network proxy)"
        )
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"there is no {' nor '.join(missing)}; apt-get install iproute2 iptables util-linux"
    return None


class Namespaces:
    """The network namespaces of one cluster, from `make` to `remove`."""

    def __init__(self, network: int, nodes: int) -> None:
        """Choose the names and addresses; only `make` makes the namespaces. network: 1 to 255,
        claimed by the caller for this cluster alone. nodes: how many."""
        self.network = network
        self.nodes = range(1, nodes + 1)
        self._owner = os.getpid()

    @classmethod
    def make(cls, network: int, nodes: int) -> Namespaces:
        """Make the namespaces and connect them. Raise LinkError if a right or a program is missing,
        or if the kernel refuses; then nothing remains."""
        if reason := why_none():
            raise LinkError(reason)
        made = cls(network, nodes)
        with _lock:
            _living[network] = made
        try:
            made._connect()
        except BaseException:
            made.remove()
            raise
        return made

    def address(self, node: int) -> str:
        """Return the address of a node."""
        return f"198.18.{self.network}.{node}"

    @property
    def harness(self) -> str:
        """The source address of all traffic from outside the namespaces, including that of
        clients."""
        return f"198.18.{self.network}.{HARNESS_HOST}"

    def path(self, node: int) -> Path:
        """Return the path of the file in /run/netns that stands for a node's namespace."""
        return NAMES / self._name(str(node))

    def enter(self, node: int) -> list[str]:
        """Return the start of a command line that runs the rest of it in a node's namespace,
        without an extra process."""
        return [_program("nsenter"), f"--net={self.path(node)}"]

    def set_rules(self, rules: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Replace the packet rules of the given nodes by these, for each node all at once. Raise
        LinkError if iptables-restore fails for one of them or takes longer than COMMAND_TIMEOUT_S;
        the other nodes have their new rules then."""
        running = []
        for node, lines in rules:
            command = [*self.enter(node), _program("iptables-restore"), "-w"]
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            running.append((process, "\n".join(["*filter", *lines, "COMMIT\n"])))
        refused = []
        for process, text in running:
            try:
                _, said = process.communicate(text, COMMAND_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                said = f"no answer within {COMMAND_TIMEOUT_S:.0f} s"
            refused += [said.strip()] if process.returncode else []
        if refused:
            raise LinkError(f"iptables-restore failed: {refused[0]}; see `touchstone doctor`")

    def remove(self) -> None:
        """Remove the namespaces, without an error for one that cannot be removed. The nodes'
        processes must have ended. It is allowed to call this twice. In a fork of the process that
        made them, leave them as they are."""
        if self._owner == os.getpid():
            _delete(name for name in _names() if name.startswith(self.prefix))
        with _lock:
            _living.pop(self.network, None)

    @property
    def prefix(self) -> str:
        """The common prefix of the names of this cluster's namespaces."""
        return f"touchstone-net-{guard.owner_tag(self._owner)}-{self.network}-"

    def _name(self, who: str) -> str:
        return self.prefix + who

    def _connect(self) -> None:
        hub, ours = self._name(HUB), _device(self.network)
        _ip(
            f"netns add {hub}",
            *(f"netns add {self._name(str(node))}" for node in self.nodes),
            f"link add {ours} type veth peer name harness netns {hub}",
            f"addr add {self.harness}/24 dev {ours}",
            f"link set {ours} up",
        )
        _ip(
            "link add bridge type bridge",
            "link set bridge up",
            "link set harness master bridge up",
            *(
                line
                for node in self.nodes
                for line in (
                    f"link add node{node} type veth peer name eth0 netns {self._name(str(node))}",
                    f"link set node{node} master bridge up",
                )
            ),
            inside=hub,
        )
        for node in self.nodes:
            _ip(
                "link set lo up",
                f"addr add {self.address(node)}/24 dev eth0",
                "link set eth0 up",
                inside=self._name(str(node)),
            )
            if Path("/proc/sys", RTO_MAX).exists():
                _run([*self.enter(node), "sh", "-c", f"echo 1000 > /proc/sys/{RTO_MAX}"])


def is_taken(network: int) -> bool:
    """Return whether this network has namespaces, of a living owner or a dead one."""
    return Path("/sys/class/net", _device(network)).exists()


def remove_leftovers() -> int:
    """Remove the namespaces of dead owners, whose processes have been ended. Return how many there
    were, including any that could not be removed."""
    left = leftovers()
    _delete(left)
    return len(left)


def leftovers() -> list[str]:
    """Return the names of the namespaces of owners that died without removing them, sorted."""
    named = [(name, _OWNED.fullmatch(name)) for name in _names()]
    return [name for name, found in named if found is not None and guard.is_dead_tag(found[1])]


def _names() -> list[str]:
    try:
        return sorted(os.listdir(NAMES))
    except FileNotFoundError:
        return []


def _delete(names: Iterable[str]) -> None:
    """Delete namespaces with the pairs of devices in them, and ignore failures; delete the
    harness's device first, since it would outlive its namespace for a moment."""
    for name in names:
        *_, network, who = name.split("-")
        if who == HUB:
            with suppress(LinkError):
                _run([_program("ip"), "link", "del", _device(int(network))])
        with suppress(LinkError):  # another command may be removing it
            _run([_program("ip"), "netns", "del", name])


def _device(network: int) -> str:
    """Return the name of the network device in the harness's own namespace; its other end is in the
    hub namespace."""
    return f"touchst{network}"


def _ip(*lines: str, inside: str | None = None) -> None:
    where = ["-n", inside] if inside else []
    _run([_program("ip"), *where, "-batch", "-"], "\n".join(lines) + "\n")


def _program(name: str) -> str:
    return shutil.which(name, path=PATH) or name


def _run(command: Sequence[str], text: str = "") -> None:
    name, given = Path(command[0]).name, shlex.join(command)
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LinkError(
            f"{name} did not end within {COMMAND_TIMEOUT_S:g} s ({given}); see `touchstone doctor`"
        ) from error
    except OSError as error:
        raise LinkError(
            f"{command[0]} cannot be run: {error.strerror}; see `touchstone doctor`"
        ) from error
    if done.returncode != 0:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise LinkError(f"{name} failed: {said} ({given}); see `touchstone doctor`")


def _at_exit() -> None:
    """Kill this process's children, if it has made namespaces, then remove the namespaces: a
    namespace exists as long as a process runs in it."""
    with _lock:
        mine = [one for one in _living.values() if one._owner == os.getpid()]
    if mine:
        processes.end_all()
    for one in mine:
        one.remove()


atexit.register(_at_exit)
