"""`python -m ci.checks`: lint, types, then the project's own checks; exit 1 on any violation."""

import subprocess
import sys
import time

from ci import places
from ci.checks import CHECKS, TOOLS
from ci.checks.diagrams import draw_diagrams
from ci.checks.guarantees import draw_guarantees
from ci.checks.sizes import size_advice


def main() -> int:
    """Run every check, even after one fails, so that one run shows everything to fix. Return the
    exit status. --draw draws generated files again first; --advice lists what is above the aimed
    sizes."""
    if "--draw" in sys.argv[1:]:
        draw_diagrams(places.ROOT)
        draw_guarantees(places.ROOT)
    failed = []
    for name, command in TOOLS.items():
        started = time.monotonic()
        done = subprocess.run([sys.executable, "-m", *command], cwd=places.ROOT)
        failed += [name] if done.returncode else []
        print(f"check: {name}: {verdict(done.returncode)} {time.monotonic() - started:.0f} s")
    for name, check in CHECKS.items():
        sentences = check(places.ROOT)
        print("\n".join([*sentences, f"check: {name}: {verdict(len(sentences))}"]))
        failed += [name] if sentences else []
    advice = size_advice(places.ROOT)
    print(f"check: {len(advice)} functions and files above the aim, within the limit")
    if "--advice" in sys.argv[1:]:
        print("\n".join(advice))
    print(f"check: {'failed: ' + ', '.join(failed) if failed else 'passed'}")
    return 1 if failed else 0


def verdict(problems: int) -> str:
    return "failed" if problems else "passed"


if __name__ == "__main__":
    raise SystemExit(main())
