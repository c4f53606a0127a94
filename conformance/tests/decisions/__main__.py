"""`python -m conformance.tests.decisions FILE…` prints the result of the gate as Markdown. The
files are those that `--decisions-out` writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from conformance.tests.decisions import decisions


def table(noticed: dict[str, str | None]) -> str:
    """Return how many decisions the cases noticed, and a row for each of the others."""
    known = decisions()
    killed = sum(killer is not None for killer in noticed.values())
    lines = [f"{len(known)} decisions, {killed} noticed.", "", "| unnoticed | why |", "|---|---|"]
    for name, decision in known.items():
        if noticed.get(name) is None:
            why = decision.reason or ("not run" if name not in noticed else "NO CASE FAILED")
            lines.append(f"| {name} | {why} |")
    return "\n".join(lines)


if __name__ == "__main__":
    found: dict[str, str | None] = {}
    for path in sys.argv[1:]:
        found |= json.loads(Path(path).read_text())
    print(table(found))
