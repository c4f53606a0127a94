"""Plugins: the template against the wheel, as another project has it; and broken plugins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from ci import places
from ci.plugins.kit import PLACES
from ci.tools import wheel_backend

TEMPLATE = places.ROOT / "docs" / "plugin-template"
BUILD = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
WITHOUT_THE_CHECKOUT = (
    "import sys\n"
    "sys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in repr(each)]\n"
)
"""The content of a sitecustomize.py that hides the packages of the checkout."""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the template with the wheels of Touchstone and of itself in `installed`."""
    folder = tmp_path_factory.mktemp("plugin") / "template"
    copytree(TEMPLATE, folder, ignore=ignore_patterns("__pycache__", ".pytest_cache"))
    dist = folder / "dist"
    dist.mkdir()
    wheels = [dist / wheel_backend.build_wheel(str(dist))]
    built = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert built.returncode == 0, built.stderr[-2000:]
    wheels.append(dist / built.stdout.split()[-1])
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(folder / "installed")
    (folder / "installed" / "sitecustomize.py").write_text(WITHOUT_THE_CHECKOUT)
    return folder


@pytest.fixture
def touchstone(project: Path) -> Run:
    """Provide what runs a Python module in the project, without the checkout's packages."""

    def run(*words: str, more: str = "") -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, (str(project / "installed"), more)))
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "HOME": str(project)}
        environment["TOUCHSTONE_CACHE"] = str(places.CACHE)
        command = [sys.executable, "-P", "-m", *words]  # as a console script: not "."
        return subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=300
        )

    return run


COMMAND = "touchstone.ci.cli"


def test_the_packages_of_the_checkout_are_hidden_and_every_name_of_the_kit_is_there(
    touchstone: Run,
) -> None:
    assert "No module named" in touchstone("ci.cli", "--version").stderr
    names = f"import touchstone.kit as kit; [getattr(kit, name) for name in {sorted(PLACES)}]"
    done = touchstone("timeit", "-n1", "-r1", names)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_lists_have_what_the_template_adds(touchstone: Run) -> None:
    done = touchstone(COMMAND, "chaos", "list")
    assert done.stderr == ""
    listed = done.stdout
    assert "few-appends" in listed and "kill-twice" in listed and "three-partitions" in listed
    doctor = touchstone(COMMAND, "doctor").stdout
    for kind in ("workload few-appends", "guarantee timestamps_rise", "importer csv"):
        assert kind in doctor, doctor
    assert "EXAMPLE-01" in touchstone(COMMAND, "conform", "list").stdout


def test_cases_of_a_plugin_are_examined_with_ours(touchstone: Run) -> None:
    done = touchstone(COMMAND, "conform", "--target", "reference", "-k", "example_plugin")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "2 passed, 0 failed" in done.stdout


@pytest.mark.nightly
@pytest.mark.needs("toxiproxy")
def test_the_templates_own_tests_pass_against_the_wheel(touchstone: Run) -> None:
    done = touchstone("pytest", "tests", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "4 passed" in done.stdout


BROKEN = {
    "touchstone.workloads": {
        "lost": ("nowhere_to_be_found:Lost", "cannot be loaded (ModuleNotFoundError"),
        "appends": ("broken_plugin:Appends", "there is a 'appends' already"),
        "empty": ("broken_plugin:Empty", "Empty lacks judged_by, processes"),
        "misnamed": ("broken_plugin:Appends", "its name is 'appends'"),
    },
    "touchstone.nemeses": {
        "ends": ("broken_exit:Nemesis", "SystemExit: 3"),
        "skips": ("broken_skip:Nemesis", "(Skipped: could not import"),
        "texts": ("broken_plugin:Texts", "its faults must be a set of classes of faults, not"),
    },
    "touchstone.guarantees": {
        "words": ("broken_plugin:Empty", "it is not a touchstone.kit.Checker")
    },
    "touchstone.cases": {
        "ours": ("broken_cases", "case PROD-99: PROD is an area of Touchstone's own")
    },
}
MODULES = {
    "broken_plugin.py": (
        "from touchstone.kit import Appends\n\nprint('hello')\n\n\nclass Empty:\n"
        "    name = 'empty'\n\n\nclass Texts:\n    name, faults, nodes_min = 'texts', 'Kill', 1\n"
        "    schedule = None\n\n\ndef failing(*_):\n    raise KeyError('mine')\n\n\n"
        "class Csv:\n    recognises = convert = failing\n"
    ),
    "broken_exit.py": "raise SystemExit(3)\n",
    "broken_skip.py": "import pytest\n\npytest.importorskip('nowhere_to_be_found')\n",
    "broken_cases.py": (
        "from touchstone.kit import case\n\n\n@case('PROD-99', 'Produce', spec='x')\n"
        "def test_x(wire):\n    'It is.'\n"
    ),
}


LATE = {
    "touchstone.targets": {"late": "broken_plugin:failing"},
    "touchstone.importers": {"late": "broken_plugin:Csv"},
}
"""Plugins that can be loaded, and fail when they are used."""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a folder with an installed package of broken plugins."""
    for name, source in MODULES.items():
        (tmp_path / name).write_text(source)
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    listed = {
        group: {name: value for name, (value, _) in points.items()}
        for group, points in BROKEN.items()
    }
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in (listed | LATE).items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    return tmp_path


def test_a_broken_plugin_is_named_in_a_sentence_and_the_others_go_on(
    touchstone: Run, broken: Path
) -> None:
    done = touchstone(COMMAND, "chaos", "list", "--json", more=str(broken))
    assert done.returncode == 0
    assert "few-appends" in {each["name"] for each in json.loads(done.stdout)["workloads"]}
    said, *told = done.stderr.splitlines()
    assert said == "hello" and len(told) == sum(map(len, BROKEN.values())), done.stderr
    for points in BROKEN.values():
        for name, (_, why) in points.items():
            [line] = [each for each in told if f"{name!r} of the package broken 1.0" in each]
            assert why in line and line.endswith("correct the package, or uninstall it"), line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "conform --target late",
            "the target 'late' of a plugin cannot be made (KeyError: 'mine')",
        ),
        ("check history.late", "the package broken 1.0 failed at {}/broken_plugin.py:"),
    ],
)
def test_a_plugin_that_fails_when_it_is_used_is_told_in_a_sentence(
    touchstone: Run, broken: Path, line: str, said: str
) -> None:
    done = touchstone(COMMAND, *line.split(), more=str(broken))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert said.format(broken) in last and last.endswith("or uninstall it"), done.stderr
