"""The markers of the root conftest.py, seen from outside: a pytest of its own in a folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ci import places

DOCTOR_WITHOUT_GO = """
from ci.doctor import Component

def _component(name):
    if name not in ("go", "java"):
        raise ValueError(f"no component is called {name!r}")
    return Component(name, name == "java", "no go on PATH", "building", "install Go")

doctor.component = _component
doctor.found = lambda name: _component(name).found
"""


def run_pytest(folder: Path, tests: str, *arguments: str) -> tuple[int, str]:
    """Run pytest with the shared conftest and a doctor that finds Java but not Go."""
    (folder / "conftest.py").write_text(
        (places.ROOT / "conftest.py").read_text() + DOCTOR_WITHOUT_GO
    )
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  needs: x\n  nightly: x\n seeds: x\n sliced: x\n"
    )
    (folder / "test_sample.py").write_text("import pytest\n" + tests)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_each_file_that_shall_begin_first_is_there() -> None:
    """A file that has moved would begin last, and the others would wait for it at the end."""
    text = (
        (places.ROOT / "conftest.py").read_text().partition("LONG_FILES = (")[2].partition(")")[0]
    )
    files = re.findall(r'"(\S+)"', text)
    assert len(files) > 20
    assert [file for file in files if not (places.ROOT / file).is_file()] == []


def test_a_test_whose_component_is_missing_is_listed_with_the_mending_command(
    tmp_path: Path,
) -> None:
    status, output = run_pytest(
        tmp_path,
        "@pytest.mark.needs('java', 'go')\ndef test_needs_go(): assert False\n"
        "@pytest.mark.needs('java')\ndef test_needs_java(): pass\n",
    )
    assert status == 0
    assert "not run (component missing)" in output
    assert "go (1 tests): no go on PATH; to mend: install Go" in output
    assert "test_sample.py::test_needs_go needs go" in output
    assert "1 passed, 1 deselected" in output


def test_with_everything_found_the_list_is_not_there(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, "@pytest.mark.needs('java')\ndef test_it(): pass\n")
    assert status == 0
    assert "not run" not in output and "1 passed" in output


def test_an_unknown_component_is_a_usage_error_that_names_the_test(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, "@pytest.mark.needs('cobol')\ndef test_it(): pass\n")
    assert status != 0
    assert "test_sample.py::test_it: no component is called 'cobol'" in output
    assert "Traceback" not in output


def test_nightly_tests_run_on_request_only(tmp_path: Path) -> None:
    tests = "@pytest.mark.nightly\ndef test_long(): pass\ndef test_short(): pass\n"
    _, usual = run_pytest(tmp_path, tests)
    assert "1 passed, 1 deselected" in usual and "1 tests are nightly" in usual
    _, nightly = run_pytest(tmp_path, tests, "--nightly")
    assert "2 passed" in nightly and "are nightly" not in nightly


def test_of_a_sliced_test_the_first_of_every_n_cases_run(tmp_path: Path) -> None:
    cases = '@pytest.mark.sliced(3)\n@pytest.mark.parametrize("number", range(7))\n'
    tests = f"{cases}def test_numbers(number): assert number % 3 == 0\n"
    _, usual = run_pytest(tmp_path, tests)
    assert "3 passed, 4 deselected" in usual and "4 tests are nightly" in usual
    _, nightly = run_pytest(tmp_path, tests, "--nightly")
    assert "4 failed, 3 passed" in nightly


DRAWING = """
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

def tell(what):
    with open("drawn", "a") as file:
        print(what, file=file)

@settings(max_examples=5)
@given(st.integers())
def test_numbers(number): tell(number)

class Machine(RuleBasedStateMachine):
    @rule(number=st.integers())
    def step(self, number): tell(number)

Machine.TestCase.settings = settings(max_examples=5, stateful_step_count=3)
TestMachine = Machine.TestCase

@pytest.mark.seeds(3)
def test_seeds(seed): tell(seed)
"""


def drawn(folder: Path, *arguments: str) -> tuple[list[str], str]:
    """Return the input that three random tests draw, and pytest's output."""
    file = folder / "drawn"
    file.unlink(missing_ok=True)
    status, output = run_pytest(folder, DRAWING, *arguments)
    assert status == 0, output
    return file.read_text().split(), output


@pytest.mark.nightly
def test_random_tests_draw_the_same_every_day_and_anew_by_night(tmp_path: Path) -> None:
    usual, said = drawn(tmp_path)
    assert drawn(tmp_path)[0] == usual
    assert usual[-3:] == ["0", "1", "2"]
    assert "--hypothesis-seed" not in said

    night, said = drawn(tmp_path, "--nightly")
    assert len(night) > 10 * len(usual)
    assert not set(usual[-3:]) & set(night[-60:])
    (again,) = set(re.findall(r"again: pytest (--hypothesis-seed=\d+ --examples-times=20)", said))
    assert drawn(tmp_path, *again.split())[0] == night
    assert drawn(tmp_path, "--nightly")[0] != night


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--examples-times=0", "--examples-times takes a whole number from 1 on"),
        ("--hypothesis-seed=x", "--hypothesis-seed takes a whole number, not 'x'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, option: str, told: str) -> None:
    status, output = run_pytest(tmp_path, DRAWING, option)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert told in output and "Traceback" not in output
