"""Pin requirements*.in in requirements*.lock, with hashes for every platform, and list the SHA-256
of every jar: `make lock`.

The jars are those that Maven brings for Apache Kafka, for Spark's connector, and for Kafka Streams,
Connect and MirrorMaker 2.

Pins that still fit are kept; `python -m ci.tools.lock --upgrade` updates everything.
"""

import sys
import venv

from ci import places
from ci.tools import jvm
from ci.tools.step import StepFailed, run_logged

LOCKS = ("requirements", "requirements-docs", "requirements-go", "requirements-java")
UV_HOME = places.CACHE / "uv"
COMPILE = [
    *("pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes"),
    *("--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links"),
]  # a universal lock serves every Python >= 3.11; the user configures the index


def main() -> int:
    """Install uv outside of .venv, since only a change of requirements needs it, and write the
    locks. Return the exit status."""
    try:
        if not (UV_HOME / "bin" / "uv").exists():
            venv.create(UV_HOME, with_pip=True, clear=True)
            run_logged("uv", [str(UV_HOME / "bin" / "pip"), "install", "-q", "uv"])
        for name in LOCKS:
            command = [str(UV_HOME / "bin" / "uv"), *COMPILE, *sys.argv[1:]]
            run_logged(f"lock {name}", [*command, f"{name}.in", "-o", f"{name}.lock"])
            print(f"lock: {name}.lock")
        for lock in jvm.write_locks():
            print(f"lock: {places.shown(lock)}")
    except StepFailed as failure:
        print(f"lock: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
