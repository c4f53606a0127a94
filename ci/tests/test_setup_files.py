"""The files that a newcomer's first command depends on agree with each other."""

import os
import re
import subprocess

import pytest

from ci import places
from ci.tools.lock import LOCKS

MAKEFILE = (places.ROOT / "Makefile").read_text()


def pins(lock: str) -> dict[str, str]:
    """Package -> version, names in the index's normal form."""
    text = (places.ROOT / f"{lock}.lock").read_text()
    return {
        name.lower().replace("_", "-"): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    wanted = re.findall(r"^([\w.-]+)", (places.ROOT / f"{lock}.in").read_text(), re.MULTILINE)
    assert wanted and {name.lower() for name in wanted} <= pins(lock).keys()
    text = (places.ROOT / f"{lock}.lock").read_text()
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_environment_has_the_pinned_versions() -> None:
    from importlib.metadata import version

    wanted = ("pytest", "pyspark", "confluent-kafka", "polars", "pandas", "hypothesis")
    assert {name: version(name) for name in wanted} == {
        name: pins("requirements")[name] for name in wanted
    }


def test_make_help_lists_every_target_that_a_person_types() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=places.ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    listed = re.findall(r"^  make (\w+)", done.stdout, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony and listed == phony.group(1).split()
    assert {"demo", "test", "check", "bench", "nightly", "setup", "clean"} <= {*listed}


def test_the_gate_is_executable_and_calls_make_test() -> None:
    gate = places.ROOT / ".ci" / "run"
    assert os.access(gate, os.X_OK)
    assert gate.read_text().rstrip().endswith("exec make test")
    assert subprocess.run(["bash", "-n", gate], timeout=60).returncode == 0


def test_a_python_too_old_is_refused_in_one_sentence() -> None:
    program = "import sys; sys.version_info = (3, 10, 1); sys.path.insert(0, 'ci/tools'); "
    done = subprocess.run(
        ["python3", "-c", program + "import environment; environment.main()"],
        cwd=places.ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "setup: Python >= 3.11 is needed; make PYTHON=/path/to/python3.11\n"
