"""Install KafkaJS by npm into .cache/node, for the tests with that client."""

import json
import os
import shutil
from pathlib import Path

from ci import places
from ci.tools.step import Step, StepFailed, run_logged

NODE_LOCK = places.ROOT / "requirements-node.lock"
MODULES = places.CACHE / "node" / "node_modules"
Packages = dict[str, tuple[str, str]]
"""Package name -> (version, SHA-512)."""


def locked(lock: Path = NODE_LOCK) -> Packages:
    """Return the packages that the lock file requires."""
    lines = (line.split() for line in lock.read_text().splitlines() if not line.startswith("#"))
    return {name: (version, digest) for name, version, digest in lines}


def installed(modules: Path = MODULES) -> Packages:
    """Return the packages that npm reports as installed in a folder, each path with its version and
    hash, or none if the folder or its list cannot be read."""
    try:
        entries = json.loads((modules / ".package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError):
        return {}
    return {
        path.removeprefix("node_modules/"): (entry["version"], entry.get("integrity", ""))
        for path, entry in entries.items()
    }


def make() -> None:
    """Install into a temporary folder, compare with the lock file, and move it into place. Raise
    StepFailed if npm is missing, fails or brings other packages.

    npm's own lock file names the host that each package came from, so a lock file of the project
    says which versions and digests are required.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise StepFailed("there is no npm; install Node.js >= 18")
    folder = MODULES.parent
    partial = folder.with_name(".node.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    wanted = locked()
    exact = [f"{name}@{version}" for name, (version, _) in wanted.items()]
    quiet = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    run_logged("kafkajs", [npm, "install", *quiet, "--prefix", str(partial), *exact])
    if installed(partial / MODULES.name) != wanted:
        raise StepFailed(
            f"npm brought other packages than {NODE_LOCK.name} asks for; run `make setup` again"
        )
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


def steps() -> list[Step]:
    """Return the step that installs the packages of the lock file, where there are the tests that
    use them."""
    output = MODULES / ".package-lock.json"
    step = Step(name="kafkajs", inputs=(NODE_LOCK,), output=output, make=make)
    return [step] if places.IS_CHECKOUT else []
