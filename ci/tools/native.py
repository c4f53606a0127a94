"""Build the LD_PRELOAD library for nodes (chaos/means/shim) into .cache/lib."""

import os
import shutil
from pathlib import Path

from chaos.means.shim.control import LIBRARY
from ci import places
from ci.tools.step import Step, StepFailed, run_logged

SOURCE = places.ROOT / "chaos" / "means" / "shim" / "shim.c"
OUTPUT = places.CACHE / "lib" / LIBRARY
FLAGS = ("-O2", "-Wall", "-Wextra", "-std=gnu11", "-shared", "-fPIC")
COMPILERS = ("cc", "gcc", "clang")


def find_compiler() -> str | None:
    """Return the path of a C compiler, or None if there is none."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def build(output: Path = OUTPUT) -> None:
    """Compile the library; it replaces the old one atomically, since running nodes may have that
    loaded. Raise StepFailed if there is no C compiler, or it fails."""
    compiler = find_compiler()
    if compiler is None:
        raise StepFailed("there is no C compiler; apt-get install gcc libc6-dev")
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.name}.partial")
    run_logged("shim", [compiler, *FLAGS, "-o", str(partial), str(SOURCE), "-ldl"])
    os.replace(partial, output)


def steps() -> list[Step]:
    """Return the single build step of this library."""
    return [Step("shim", (SOURCE,), OUTPUT, build, " ".join(FLAGS))]
