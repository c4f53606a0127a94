"""The examples that the `--help` of each command ends with. A test parses every one."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "doctor": ("touchstone doctor", "touchstone doctor --mend"),
    "setup": ("touchstone setup toxiproxy porcupine",),
    "serve": (
        "touchstone serve --port 9092 --data data --config num.partitions=3",
        "touchstone serve --nodes 3 --port 9092 --data data",
    ),
    "status": (
        "touchstone status --bootstrap localhost:9092",
        "touchstone status --cluster touchstone.toml --watch",
    ),
    "check": (
        "touchstone check runs/RUN --explain",
        "touchstone check history.edn --format jepsen --profile jepsen",
        "touchstone check --self-test --seeds 20",
    ),
    "report": ("touchstone report runs/RUN --out report.html",),
    "ui": ("touchstone ui runs",),
    "compare": (
        "touchstone compare apache:4.3.1 kfake --priority P0 --out comparison",
        "touchstone compare before.json after.json --json",
        "touchstone compare apache:4.3.1 reference --priority P0 --chaos 20 --speed 5",
    ),
    "implementations": (
        "touchstone implementations apache.json mine:2.1=mine.json --out implementations.md",
    ),
    "claims": ("touchstone claims apache.json reference.json --out claims.md",),
    "demo": ("touchstone demo --seconds 20",),
    "nightly": (
        "touchstone nightly --minutes 45 --targets apache:4.3.1 reference",
        "touchstone nightly --minutes 20 --cluster touchstone.toml --plan --json",
    ),
    "scenarios": ("touchstone scenarios apache:4.3.1 --table",),
    "findings": ("touchstone findings runs --out findings.md",),
    "bench": ("touchstone bench judges",),
    "fuzz": ("touchstone fuzz --seconds 60 --seed 1",),
    "kills": (
        "touchstone kills --kills 200 --seed 1",
        "touchstone kills --kills 30 --seed 1 --nodes 3",
    ),
    "sim": (
        "touchstone sim --seeds 200 --jobs 2",
        "touchstone sim --first-seed 4711 --seeds 1 --bug reuse-producer-ids --json",
    ),
    "replay": (
        "touchstone replay runs/RUN --shrink",
        "touchstone replay runs/RUN --target reference",
    ),
    "bugs": (
        "touchstone bugs --list --json",
        "touchstone bugs --only acknowledge-before-append --seconds 20",
    ),
    "conform": (
        "touchstone conform --bootstrap localhost:9092 --priority P0",
        "touchstone conform PROD-05 IDEM-03 --target apache:4.3.1",
        "touchstone conform --bootstrap localhost:9092 --max-time 10m",
        "touchstone conform --bootstrap localhost:9092 --area TXN --baseline known.toml",
        "touchstone conform --bootstrap localhost:9092 --profile groups --html groups.html",
        "touchstone conform --cluster touchstone.toml --out results.json --junit results.xml",
        "touchstone conform --target apache:4.3.1 --fuzz 10m --seed 1",
    ),
    "conform list": ("touchstone conform list --markdown",),
    "chaos": ("touchstone chaos list",),
    "chaos run": (
        "touchstone chaos run --target apache:4.3.1 --nodes 3 --workload transactions "
        "--nemesis kill-leader --seconds 40",
        "touchstone chaos run --cluster touchstone.toml --workload appends --seconds 30",
    ),
    "chaos matrix": (
        "touchstone chaos matrix --target reference --nodes 3 --seeds 5 --seconds 60",
        "touchstone chaos matrix --target apache:4.3.1 --workload appends --nemesis kill-leader",
    ),
    "chaos list": (
        "touchstone chaos list --cluster touchstone.toml",
        "touchstone chaos list --json",
    ),
    "chaos probe": ("touchstone chaos probe --fault DiskStall --json",),
}
"""Command -> the lines that its help shows as examples."""


def epilog(command: str) -> str | None:
    """Return the examples that end a command's help, or None. A blank line keeps typer from joining
    two lines."""
    examples = EXAMPLES.get(command)
    return "\n\n".join(("Examples:", *examples)) if examples else None
