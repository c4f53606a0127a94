"""The gate of decisions: a reference that decides one thing otherwise fails a case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.decisions import CORE, decisions
from conformance.tests.decisions.__main__ import table

CASES = Path(__file__).parent.parent / "cases"


def run_gate(
    out: Path, like: str, folders: list[str], *, timeout_s: float
) -> dict[str, str | None]:
    """Run the gate; name of a decision -> the case that noticed it, or None."""
    command = [
        *(sys.executable, "-m", "pytest", *(str(CASES / folder) for folder in folders), "-q"),
        *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "conformance.tests.decisions.gate"),
        *("--target", "reference", "--decisions", like, "--decisions-out", str(out)),
    ]
    subprocess.run(command, check=False, timeout=timeout_s, stdout=subprocess.DEVNULL)
    found: dict[str, str | None] = json.loads(out.read_text())
    return found


def test_a_slice_of_the_decisions_is_noticed(tmp_path: Path) -> None:
    like = "^(session-epoch0-keeps-old|list-below-inclusive)$"
    folders = ["fetch", "list_offsets"]
    found = run_gate(tmp_path / "noticed.json", like, folders, timeout_s=300)
    assert len(found) == 2
    assert None not in found.values()


@pytest.mark.nightly
def test_every_decision_is_noticed_that_names_its_cases(tmp_path: Path) -> None:
    found = run_gate(tmp_path / "noticed.json", "", [""], timeout_s=5400)
    assert found.keys() == {name for name, each in decisions().items() if each.cases}
    assert [name for name, killer in found.items() if killer is None] == []


def test_each_decision_is_one_place_in_the_code_and_its_replacement_compiles() -> None:
    for decision in decisions().values():
        source = decision.replaced((CORE / decision.file).read_text())
        compile(source, decision.file, "exec", dont_inherit=True)


def test_the_table_tells_why_a_decision_is_not_noticed() -> None:
    reasoned = next(each for each in decisions().values() if each.reason)
    told = table({name: "test_a" for name in decisions() if name != reasoned.name})
    assert f"| {reasoned.name} | {reasoned.reason} |" in told
