"""Start docker-compose.yml, wait until it is healthy, attack it with `touchstone chaos run`, and
stop it: `python -m ci.compose`.

It uses the Docker daemon that DOCKER_HOST names, or the default one. The exit status is that of the
attack, 1 if containers are left, or 2 if the cluster does not start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaos.means.docker.containers import STAND_IN, asking, daemon_url
from chaos.targets.clusters import probe
from chaos.targets.foreign import compose
from chaos.values.protocols import TargetError
from ci import places
from ci.errors import UsageError, explain

FILE = places.ROOT / "docker-compose.yml"
CLUSTER = Path(__file__).with_name("cluster.toml")
DESCRIBED = places.CACHE / "compose" / "cluster.toml"
IMAGES = {
    "TOUCHSTONE_KAFKA_DIGEST": "apache/kafka:4.3.1",
    "TOUCHSTONE_TOXIPROXY_DIGEST": "ghcr.io/shopify/toxiproxy:2.12.0",
    "TOUCHSTONE_PYTHON_DIGEST": "python:3.11-slim",
}
"""The variable of docker-compose.yml that replaces an image's digest -> the image."""
PROJECT = "touchstone-compose"
UP_TIMEOUT_S = 900
HEALTHY_TIMEOUT_S = 240.0
ASK_TIMEOUT_S = 5.0
POLL_S = 0.5
ADDRESSES = tuple(("127.0.0.1", port) for port in (19092, 19093, 19094, 29092, 29093, 29094, 19099))


def compose_command() -> list[str]:
    """Return the command words that run Docker Compose here. Raise UsageError if there is none."""
    if (words := compose.found()) is None:
        raise UsageError("compose: there is no `docker compose`; install Docker Compose")
    return words.split()


def perform(command: Sequence[str], *verb: str) -> None:
    """Run a Compose command on the project of this proof. Raise UsageError, with the end of what it
    printed, if it fails or takes longer than UP_TIMEOUT_S."""
    whole = [*command, "-f", str(FILE), "-p", PROJECT, *verb]
    try:
        done = subprocess.run(
            whole,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=UP_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"compose: {' '.join(verb)} did not end within {UP_TIMEOUT_S:g} s; see what Docker does"
        ) from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise UsageError(f"compose: {' '.join(verb)} ended with {done.returncode}: {said}")


def stand_ins(client: Any) -> dict[str, str]:
    """Return the environment that makes Compose use the images by name, without a digest, for those
    images that are locally built stand-ins."""
    import docker.errors

    found: dict[str, str] = {}
    for variable, image in IMAGES.items():
        with asking(f"look for the image {image}"), suppress(docker.errors.ImageNotFound):
            found |= {variable: ""} if STAND_IN in client.images.get(image).labels else {}
    return found


def healths(client: Any) -> Mapping[str, str]:
    """Return service -> its health, or its state if it has no health check."""
    label = "com.docker.compose"
    with asking("list the services"):
        found = client.containers.list(all=True, filters={"label": f"{label}.project={PROJECT}"})
        states = {one.labels[f"{label}.service"]: one.attrs["State"] for one in found}
    return {
        service: state.get("Health", {}).get("Status", state["Status"])
        for service, state in sorted(states.items())
    }


def wait_healthy(client: Any) -> Mapping[str, str]:
    """Wait until every service is healthy (or runs, without a health check) and a broker answers at
    every address; return service -> health. Raise UsageError after the time limit."""
    deadline = time.monotonic() + HEALTHY_TIMEOUT_S
    while True:
        seen = healths(client)
        silent = [
            port for host, port in ADDRESSES if not probe.answers((host, port), ASK_TIMEOUT_S)
        ]
        if seen and set(seen.values()) <= {"healthy", "running"} and not silent:
            return seen
        if time.monotonic() > deadline:
            raise UsageError(
                f"compose: not healthy after {HEALTHY_TIMEOUT_S:.0f} s: {dict(seen)};"
                f" silent ports: {silent or 'none'}; see `docker compose -p {PROJECT} logs`"
            )
        time.sleep(POLL_S)


def describe() -> Path:
    """Write the target file that describes this cluster and return its path. The path does not
    change, so that the command that a run prints for repeating it works."""
    described = CLUSTER.read_text("utf-8").replace(
        'file = "../../docker-compose.yml"',
        f'file = {json.dumps(str(FILE))}\nproject = "{PROJECT}"',
    )
    DESCRIBED.parent.mkdir(parents=True, exist_ok=True)
    DESCRIBED.write_text(described, "utf-8")
    return DESCRIBED


def attack(nemesis: str, seconds: float, seed: int, runs: Path) -> int:
    """Attack the cluster as a user would; return the exit status."""
    target = os.path.relpath(describe(), places.ROOT)
    arguments = [
        "chaos",
        "run",
        "--target",
        target,
        "--nodes",
        "3",
        "--workload",
        "appends",
        "--nemesis",
        nemesis,
        "--seconds",
        str(seconds),
        "--seed",
        str(seed),
        "--runs",
        str(runs),
    ]
    program = [sys.executable, "-m", "ci.cli", *arguments]
    return subprocess.run(program, cwd=places.ROOT, check=False).returncode


def show(nemesis: str, seconds: float, seed: int, runs: Path) -> int:
    """Start the cluster, attack it once it is healthy, and stop it in any case. Return the attack's
    exit status, or 1 if containers are left. Raise UsageError if there is no Docker Compose, or the
    cluster does not start or become healthy."""
    import docker

    command = compose_command()
    with asking("report its version"):
        client = docker.DockerClient(base_url=daemon_url(), timeout=60)
        client.ping()
    os.environ["DOCKER_HOST"] = daemon_url()
    os.environ |= stand_ins(client)
    try:
        began = time.monotonic()
        perform(command, "up", "--detach")
        seen = wait_healthy(client)
        told = ", ".join(f"{service} {health}" for service, health in seen.items())
        print(f"compose: up in {time.monotonic() - began:.0f} s: {told}", flush=True)
        status = attack(nemesis, seconds, seed, runs)
    finally:
        perform(command, "down", "--volumes")
    left = healths(client)
    print(f"compose: attack ended with status {status}; down, {len(left)} container(s) left")
    return status if not left else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ci.compose", description=__doc__)
    parser.add_argument("--nemesis", default="kill-leader")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    arguments = parser.parse_args()
    try:
        return show(arguments.nemesis, arguments.seconds, arguments.seed, arguments.runs.resolve())
    except (UsageError, TargetError, KeyboardInterrupt) as error:
        return explain(error)


if __name__ == "__main__":
    sys.exit(main())
