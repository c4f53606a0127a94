"""Build the wheel, and use it as a stranger does: `python -m ci.wheel [DIST]`, `make wheel`.

`--secured` instead examines and attacks an Apache Kafka cluster with SASL_SSL, whose owner is this
process, by a user who has Python alone. The exit status is 1 if a step takes more than it may, and
2 if a step fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from chaos.values.protocols import TargetError
from ci import places
from ci.bench.table import Table
from ci.wheel.owner import owned
from ci.wheel.secured import SecuredWalk
from ci.wheel.stranger import Stranger, WalkFailed
from ci.wheel.walk import Walk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ci.wheel", description=__doc__)
    parser.add_argument("dist", nargs="?", type=Path, default=Path("dist"))
    parser.add_argument("--secured", action="store_true")
    parser.add_argument("--nodes", type=int, default=3, choices=(1, 3))
    parser.add_argument("--priority", default="P2", choices=("P0", "P1", "P2"))
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="touchstone-wheel-") as scratch:
        folder = Path(scratch) / "stranger"
        folder.mkdir()
        try:
            table = (_secured if arguments.secured else _usual)(Path(scratch), folder, arguments)
        except (WalkFailed, TargetError) as failure:
            print(f"wheel: {failure}", file=sys.stderr)
            return 2
    print(table.render())
    print(f"wheel: {(time.monotonic() - began) / 60:.1f} minutes in all")
    return 1 if table.broken else 0


def _usual(_scratch: Path, folder: Path, arguments: argparse.Namespace) -> Table:
    return Walk(Stranger(folder, places.CACHE), arguments.dist.resolve()).perform()


def _secured(scratch: Path, folder: Path, arguments: argparse.Namespace) -> Table:
    alone = Stranger(folder, scratch / "cache", programs="")
    with owned(scratch / "cluster", folder, arguments.nodes) as owner:
        return SecuredWalk(alone, arguments.dist.resolve(), owner, arguments.priority).perform()


if __name__ == "__main__":
    sys.exit(main())
