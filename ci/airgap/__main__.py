"""`python -m ci.airgap up | run COMMAND… | prove | down [--purge]`: Docker without a registry.

up     start the private daemon, make the stand-ins; prints the DOCKER_HOST to export
run    the same, then COMMAND with that DOCKER_HOST, then down; ends with COMMAND's exit status
prove  the same, with everything that proves the Docker backend works (prove.py); `make docker`
down   stop the daemon; --purge: delete its images too

`run` and `prove` leave a daemon that ran before them as it was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chaos.values.protocols import TargetError
from ci.airgap import daemon, images, prove
from ci.errors import UsageError, explain


def up() -> str:
    """Start the daemon unless it runs, make every missing image (a line on standard error for
    each), and return the daemon's address. Raise UsageError if the daemon cannot start or the base
    image cannot be made, and TargetError if Docker refuses to build an image."""
    import docker

    address = daemon.start()
    client = docker.DockerClient(base_url=address, timeout=600)
    try:
        for image, done in images.make_missing(client):
            print(f"airgap: {image}: {done}", file=sys.stderr, flush=True)
    finally:
        client.close()
    return address


def run(command: list[str]) -> int:
    """Start the daemon with its images, run a command with its DOCKER_HOST, stop the daemon unless
    it ran before, and return the command's exit status. Raise UsageError if no command is given or
    it cannot be run, and otherwise as `up` does."""
    if not command:
        raise UsageError("airgap run: name a command")
    with daemon_up() as address:
        environment = {**os.environ, "DOCKER_HOST": address}
        try:
            return subprocess.run(command, env=environment, check=False).returncode
        except OSError as error:
            raise UsageError(f"airgap run: {command[0]}: {error.strerror}") from error


@contextmanager
def daemon_up() -> Iterator[str]:
    """Start the daemon with its images (see `up`), yield its address, and stop it at the end unless
    it ran before."""
    was_up = daemon.is_up()
    try:
        yield up()
    finally:
        if not was_up:
            daemon.stop()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ci.airgap",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="action", required=True)
    commands.add_parser("up")
    commands.add_parser("prove")
    commands.add_parser("run").add_argument("command", nargs=argparse.REMAINDER)
    commands.add_parser("down").add_argument("--purge", action="store_true")
    arguments = parser.parse_args()
    try:
        if arguments.action == "run":
            return run(arguments.command)
        if arguments.action == "prove":
            with daemon_up() as address:
                return prove.perform(prove.shows(), address)
        if arguments.action == "up":
            print(f"export DOCKER_HOST={up()}")
        elif arguments.purge:
            daemon.purge()
        elif not daemon.stop():
            print("airgap: no daemon of ours runs", file=sys.stderr)
    except (UsageError, TargetError, KeyboardInterrupt) as error:
        return explain(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
