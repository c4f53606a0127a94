"""The table of the mutation gate: `python -m conformance.tests.mutants_table FILE…` prints it.

The files are those that `--mutants-out` writes. A mutant that occurs in several of them counts as
killed if one of them says so.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from conformance.cases.framing.minimal_requests import REQUESTS
from conformance.tests.mutants import OPERATORS

Found = Mapping[str, str | None]
"""Mutant -> the case that killed it, if any."""

LEGAL: tuple[tuple[str, str], ...] = (
    (r"\bfinalized_features_epoch\b", "any epoch is legal that does not decrease"),
    (r"\bsupported_features\.(max|min)_version\b", "a broker may support any levels"),
    (r"\bresults\.(total|usable)_bytes\b", "no other request tells the size of the disk"),
    (r"\breplica_directory_id\b", "no other request tells the directory id"),
    (r"\bclient_host longer", "a broker may write a host in any form"),
    (r"^DescribeQuorum .*_timestamp\b", "a time of the broker's clock, or unknown"),
    (r"^DescribeQuorum .*log_end_offset off-by-one", "the log of the metadata grows all the time"),
    (r"^DescribeQuorum .*leader_epoch off-by-one", "no other request tells the quorum's epoch"),
    (
        r"^(Join|Sync)Group protocol_(name|type) text-for-null",
        "clients ignore it in a response with an error",
    ),
    (
        r"^(ConsumerGroup)?Heartbeat member_id text-for-null",
        "clients ignore it in a response with an error",
    ),
    (r"\bheartbeat_interval_ms off-by-one", "a broker may choose the interval"),
    (r"\baccepted_compression_types without-last", "a broker may accept any set of codecs"),
    (r"^ShareAcknowledge .*current_leader\.", "clients ignore it in a response without an error"),
    (r"^Share.*assignor_name longer", "a broker may name its share assignor as it likes"),
    (
        r"^Fetch .*aborted_transactions empty-for-null",
        "null and the empty list both mean none to readers of uncommitted records",
    ),
    (r"\b(eligible_leader_replicas|last_known_elr)\b", "null and the empty list both mean none"),
)
"""Regex of a mutant that a legal broker may be, and why."""


def why_legal(mutant: str) -> str | None:
    """Return the reason why a mutant may live, or None if a case should have killed it."""
    return next((reason for regex, reason in LEGAL if re.search(regex, mutant)), None)


def merged(files: Iterable[Path]) -> dict[str, str | None]:
    """Return mutant -> the case that killed it in one of several runs, or None."""
    found: dict[str, str | None] = {}
    for path in files:
        for mutant, killer in json.loads(path.read_text())["mutants"].items():
            found[mutant] = found.get(mutant) or killer
    return found


def table(found: Found) -> str:
    """Return the results by API, and each survivor with its reason, as Markdown."""
    by_api: dict[str, list[str | None]] = defaultdict(list)
    for mutant, killer in sorted(found.items()):
        by_api[mutant.partition(" ")[0]].append(killer)
    lived = [mutant for mutant, killer in sorted(found.items()) if killer is None]
    unexplained = [mutant for mutant in lived if why_legal(mutant) is None]
    counted = len(found) - len(lived) + len(unexplained)
    killed = len(found) - len(lived)
    operators = {mutant.rpartition(" ")[2] for mutant in found}
    missing = [
        *sorted({*OPERATORS, "stale", "neighbour"} - operators),
        *sorted(set(REQUESTS) - set(by_api)),
    ]
    lines = [
        "# Mutants of the reference's answers",
        "",
        "Each mutant always answers one field of one API wrongly. It is killed if a case "
        "fails with it and passes without it (`conformance/tests/mutation.py`).",
        "",
        f"{len(found)} mutants, {killed} killed. {len(lived) - len(unexplained)} of the others "
        f"are legal for a broker; of the rest {killed / max(counted, 1):.1%} were killed.",
        "",
        f"Not covered by this run: {', '.join(missing) or 'none'}.",
        "",
        "| API | mutants | killed |",
        "|---|---|---|",
        *(
            f"| {api} | {len(all_of)} | {sum(killer is not None for killer in all_of)} |"
            for api, all_of in sorted(by_api.items())
        ),
        "",
        "| survivor | why |",
        "|---|---|",
        *(f"| {mutant} | {why_legal(mutant) or 'no case notices it yet'} |" for mutant in lived),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(merged(map(Path, sys.argv[1:]))))
