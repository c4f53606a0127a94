"""A scene for test_leftovers, in a pid namespace of its own: its owner has been killed.

Two equal owners each have a child that hangs on a frozen disk, a namespace, and a paused node of
somebody else. One owner is killed with SIGKILL, and its guard before it. The scene prints the
output of `touchstone doctor` after that, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OWNER = """
import os, pathlib, signal, subprocess, sys
from chaos.means import guard, owed, processes
from chaos.means.disks import Disk
from chaos.means.netns.namespaces import Namespaces
home, network, port, paused = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
disk = Disk.make("left", 64 << 20)
disk.freeze()
program = "open(%r, 'wb').write(b'1')" % str(disk.mount_point / "file")
child = processes.start([sys.executable, "-c", program], name="hanging", log=home / "log")
namespaces = Namespaces.make(network, 1)
owed.Note(owed.Repair.of_paused(("127.0.0.1", port), paused))
os.kill(paused, signal.SIGSTOP)
print(child.pid, processes._guard.pid, disk.mount_point, namespaces.path(1).name, flush=True)
signal.pause()
"""


class Owner:
    """One that lives until `kill`, and what it has made."""

    def __init__(self, home: Path, network: int, port: int) -> None:
        home.mkdir()
        self.stranger = subprocess.Popen(["sleep", "600"])
        words = [sys.executable, "-c", OWNER, home, network, port, self.stranger.pid]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        child, guard, mount_point, self.namespace = self.process.stdout.readline().split()
        self.child, self.guard, self.mount_point = int(child), int(guard), mount_point

    def kill(self) -> None:
        """Guard first: it would end the child."""
        os.kill(self.guard, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def state(self) -> dict[str, object]:
        """Return which of all this is there yet; T is the state of a paused process."""
        mounts = Path("/proc/self/mounts").read_text()
        return {
            "child": state_of(self.child) not in "XZ",
            "mounted": self.mount_point in mounts,
            "namespace": Path("/run/netns", self.namespace).exists(),
            "paused": state_of(self.stranger.pid) == "T",
        }


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def doctor(*options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "ci.cli", "doctor", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main(home: Path, network: int) -> None:
    living, dead = Owner(home / "a", network, 9), Owner(home / "b", network + 1, 10)
    try:
        dead.kill()
        time.sleep(0.1)
        scene = {
            "made": dead.state(),
            "names": [str(dead.child), dead.mount_point, dead.namespace, "127.0.0.1:10"],
            "others": [f"process {living.child} ", living.mount_point, living.namespace],
            "told": doctor(),
            "told as json": doctor("--json"),
            "untouched": dead.state(),
            "mended": doctor("--mend"),
            "gone": dead.state(),
            "told again": doctor(),
            "living": living.state(),
        }
    finally:
        living.process.kill()
        living.process.wait()
        doctor("--mend")
    print(json.dumps(scene))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
