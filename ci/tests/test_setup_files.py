"""The files that a newcomer's first command depends on agree with each other."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ci import places
from ci.checks.dependencies import normal
from ci.tools.lock import LOCKS

MAKEFILE = (places.ROOT / "Makefile").read_text()


def pins(lock: str) -> dict[str, str]:
    """Return package -> version, names in the index's normal form (PEP 503)."""
    text = (places.ROOT / f"{lock}.lock").read_text()
    return {
        normal(name): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)
    }


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    wanted = re.findall(r"^([\w.-]+)", (places.ROOT / f"{lock}.in").read_text(), re.MULTILINE)
    assert wanted and {normal(name) for name in wanted} <= pins(lock).keys()
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
        cwd=places.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    listed = re.findall(r"^  make (\w+)", done.stdout, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony and listed == phony.group(1).split()
    assert {"demo", "test", "check", "bench", "nightly", "setup", "clean"} <= {*listed}


def test_the_gate_is_executable_and_calls_make_test() -> None:
    gate = places.ROOT / ".ci" / "run"
    assert os.access(gate, os.X_OK)
    assert gate.read_text().rstrip().endswith('exec make test "$@"')
    assert subprocess.run(["bash", "-n", gate], timeout=600).returncode == 0


def test_a_python_too_old_is_refused_in_one_sentence() -> None:
    program = "import sys; sys.version_info = (3, 10, 1); sys.path.insert(0, 'ci/tools'); "
    done = subprocess.run(
        ["python3", "-c", program + "import environment; environment.main()"],
        cwd=places.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 2
    assert done.stderr == "setup: Python >= 3.11 is needed; make PYTHON=/path/to/python3.11\n"


def test_the_workflow_names_every_action_by_its_commit() -> None:
    workflow = (places.ROOT / ".github" / "workflows" / "ci.yml").read_text()
    used = re.findall(r"uses: *(.+)", workflow)
    assert used
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [action for action in used if pinned.fullmatch(action) is None] == []


def test_the_gate_brings_what_tests_need_and_goes_on_where_it_cannot(tmp_path: Path) -> None:
    """The machine of this test has only a shell, and its package manager installs nothing."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(places.ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "mkdir", "timeout"):
        (programs / name).symlink_to(shutil.which(name) or name)
    for name, script in (
        ("id", "echo 0"),
        ("apt-get", f'echo "$*" >> {tmp_path}/asked; [ "$1" = update ]'),
        ("make", 'echo "make $*"'),
    ):
        (programs / name).write_text(f"#!{programs}/bash\n{script}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / ".ci" / "run"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("make test\n")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "update" and asked.count("update") == 1
    assert "install -y --no-install-recommends gcc libc6-dev" in asked
    assert "ci: no maven (.cache/logs/packages.log); the tests that need mvn" in done.stdout
