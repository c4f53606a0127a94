"""The mutation gate: a target that answers one field wrongly fails a case."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from conformance.tests.fake import piece, response
from conformance.tests.mutants import Mutant, mutants_of
from conformance.tests.mutants_table import merged, table, why_legal

CASES = Path(__file__).parent.parent / "cases"
KILLED_MIN = 0.97
"""Of all mutants but those which a legal broker may be (mutants_table.LEGAL)."""
JUDGED = "(?!.*(stale|neighbour)$)"
"""Two answers in a row, and two rows, often say the same rightly."""
THROTTLE = "throttle_time_ms"
"""A field that is left out: only one case checks it, for every API (WIRE-29), and that case is not
in the selection."""


def run_gate(
    out: Path, folders: list[str], *options: str, timeout_s: float
) -> dict[str, str | None]:
    """Run the gate on the reference broker; mutant -> the case that killed it, or None."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        *(str(CASES / folder) for folder in folders),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "conformance.tests.mutation",
        "--target",
        "reference",
        "--mutants-out",
        str(out),
        *options,
    ]
    subprocess.run(command, check=False, timeout=timeout_s, stdout=subprocess.DEVNULL)
    return merged([out])


def survivors(found: dict[str, str | None]) -> list[str]:
    return [m for m, killer in found.items() if killer is None and why_legal(m) is None]


def test_a_slice_of_the_mutants_is_killed(tmp_path: Path) -> None:
    like = f"^(ListOffsets|DeleteRecords) {JUDGED}"
    options = ["--mutants", "30", "--mutants-like", like]
    found = run_gate(tmp_path / "mutants.json", ["list_offsets"], *options, timeout_s=800)
    assert len(found) == 30
    assert [m for m in survivors(found) if THROTTLE not in m] == []


@pytest.mark.nightly
def test_most_mutants_are_killed(tmp_path: Path) -> None:
    found = run_gate(tmp_path / "mutants.json", [""], "--mutants-like", JUDGED, timeout_s=5400)
    assert len(found) > 600
    lived = survivors(found)
    assert len(lived) <= (1 - KILLED_MIN) * len(found), lived


def test_the_table_tells_what_is_legal_from_what_is_missing() -> None:
    legal = "ApiVersions finalized_features_epoch zero"
    found = {"Fetch a zero": "test_a", "Fetch b zero": None, legal: None}
    told = table(found)
    assert "3 mutants, 1 killed. 1 of the others are legal for a broker" in told
    assert "of the rest 50.0% were killed" in told
    assert "| Fetch b zero | no case notices it yet |" in told
    assert "| Fetch | 2 | 1 |" in told


def test_a_mutant_changes_what_it_says_and_nothing_else() -> None:
    topic = piece("Metadata", "MetadataResponseTopic", name="t", topic_id=uuid.uuid4())
    answer = response("Metadata", topics=[topic], cluster_id="c")
    before = repr(answer)
    assert Mutant("Metadata", ("topics", "name"), "longer").apply(answer, None)
    assert repr(answer) == before.replace("name='t'", "name='tx'")
    assert not Mutant("Metadata", ("topics", "partitions"), "without-last").apply(answer, None)


def test_every_field_of_a_version_has_mutants() -> None:
    paths = {mutant.path for mutant in mutants_of("Produce", 13)}
    assert ("responses", "topic_id") in paths
    assert ("responses", "name") not in paths  # up to v12 only
    assert ("responses", "partition_responses", "current_leader", "leader_epoch") in paths
