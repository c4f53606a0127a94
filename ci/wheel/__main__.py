"""Build the wheel, and use it as a stranger does: `python -m ci.wheel [DIST]`, `make wheel`.

The exit status is 1 if a step takes more than it may, and 2 if a step fails.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ci import places
from ci.wheel.stranger import Stranger, WalkFailed
from ci.wheel.walk import Walk


def main() -> int:
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()
    with tempfile.TemporaryDirectory(prefix="touchstone-wheel-") as scratch:
        folder = Path(scratch) / "stranger"
        folder.mkdir()
        try:
            table = Walk(Stranger(folder, places.CACHE), dist).perform()
        except WalkFailed as failure:
            print(f"wheel: {failure}", file=sys.stderr)
            return 2
    print(table.render())
    return 1 if table.broken else 0


if __name__ == "__main__":
    sys.exit(main())
