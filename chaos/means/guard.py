"""End the child processes of a process that died (kill -9, a crash) before it could end them
itself.

Every child of chaos.means.processes carries its owner's name in its environment. No other record is
needed: the same system call writes the name and starts the child. So no child ever runs unrecorded,
no file can become stale, and a reused process number is never taken for a child. PR_SET_PDEATHSIG
cannot replace this: Linux sends it when the *thread* that started the child ends, and a nemesis
thread starts brokers that must outlive it.

Run as a program (`python guard.py OWNER`, standard library only, so that it starts in milliseconds)
it waits until the owner is gone: end of file on standard input, or, if a fork of the owner still
holds the pipe, its absence from /proc. Then it ends what the owner left.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator

VARIABLE = "TOUCHSTONE_OWNER"
REALM = "TOUCHSTONE_REALM"
"""The environment variable with the number of a realm, which separates commands: a command cleans
up only after commands of its own realm (and of its own pid namespace). Tests that run beside each
other, or beside an attack, have realms of their own."""
POLL_S = 1.0
SWEEPS_MAX = 50


def start_time(pid: int) -> str | None:
    """Return the time at which a process started, in clock ticks since boot, or None if it is gone
    or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            # The second field, the command, is in parentheses and may hold spaces itself.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def owner_name(pid: int) -> str:
    """Return `PID:START:NAMESPACE`, a process name that no other process of this boot ever has."""
    return f"{pid}:{start_time(pid)}:{_namespace()}"


def owner_tag(pid: int) -> str:
    """Return the owner's name in characters that are allowed in file names:
    `PID-START-NAMESPACE`."""
    process, started, namespace = owner_name(pid).split(":", 2)
    return f"{process}-{started}-{''.join(filter(str.isdigit, namespace))}"


def is_dead_tag(tag: str) -> bool:
    """Return whether the process that a tag names is gone or a zombie. A process in another pid
    namespace or realm counts as living, because its state is not visible here."""
    pid, started, namespace = tag.split("-")
    here = owner_tag(os.getpid()).rpartition("-")[2]
    return namespace == here and start_time(int(pid)) != started


def _namespace() -> str:
    """Return this process's pid namespace as the link in /proc names it (pid:[NUMBER]), followed by
    the digits of the environment variable REALM, if it is set."""
    return os.readlink("/proc/self/ns/pid") + "".join(
        filter(str.isdigit, os.environ.get(REALM, ""))
    )


def is_alive(owner: str) -> bool:
    """Return whether the process with this owner name still exists; a zombie does not count."""
    pid, started, _ = owner.split(":", 2)
    return start_time(int(pid)) == started


def _owner_of(pid: int) -> str | None:
    """Return the owner's name in the environment of a process, or None if there is none or it
    cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return None
    prefix = VARIABLE.encode() + b"="
    for entry in environment.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode("ascii", "replace")
    return None


def owned() -> Iterator[tuple[int, str]]:
    """Yield (pid, owner) of every process in our pid namespace and realm that carries an owner's
    name, except this process itself."""
    here = _namespace()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        owner = _owner_of(int(name))
        # An owner in another pid namespace (a container) looks dead from here and is not ours.
        if owner and owner.count(":") >= 2 and owner.split(":", 2)[2] == here:
            yield int(name), owner


def end(pid: int) -> None:
    """Send SIGKILL to one process, which also ends a paused one, without waiting. Do nothing if it
    is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def sweep(owner: str) -> list[int]:
    """Kill every process that this dead owner has started, looking again until none is found or
    SWEEPS_MAX looks are done. Return their ids."""
    ended: list[int] = []
    empty = 0
    for _ in range(SWEEPS_MAX):
        found = [pid for pid, whose in owned() if whose == owner and start_time(pid) is not None]
        for pid in found:
            end(pid)
        ended += [pid for pid in found if pid not in ended]
        # Look until nothing is found twice: a child shows its environment only after exec.
        empty = 0 if found else empty + 1
        if empty == 2:
            break
        time.sleep(0.02)
    return ended


def main(owner: str) -> None:
    """Wait until standard input ends or the owner is gone, and then kill what the owner left.
    Ignore SIGINT from now on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while is_alive(owner):
        readable, _, _ = select.select([sys.stdin], [], [], POLL_S)
        if readable and not os.read(sys.stdin.fileno(), 1):
            break
    sweep(owner)


if __name__ == "__main__":
    main(sys.argv[1])
