"""The wheel: one package, which works beside a user's own packages of the same names."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ci import places
from ci.errors import EXTRAS
from ci.tools import wheel_backend
from ci.tools.wheel_backend import BuildError, renamed


def test_imports_and_names_of_modules_move_under_the_package() -> None:
    source = (
        "from chaos.values.faults import Heal\nfrom ci import places\nfrom os import path\n"
        'COMMAND = ["-m", "reference_impl.host", "chaos", "chaos.md file"]\n'
    )
    assert renamed(source, "x.py") == (
        "from touchstone.chaos.values.faults import Heal\nfrom touchstone.ci import places\n"
        "from os import path\n"
        'COMMAND = ["-m", "touchstone.reference_impl.host", "chaos", "chaos.md file"]\n'
    )


def test_an_import_that_cannot_be_renamed_is_refused_by_file_and_line() -> None:
    with pytest.raises(BuildError, match=r"x\.py:2: `import chaos\.values` cannot be renamed"):
        renamed("import os\nimport chaos.values\n", "x.py")


def test_a_name_that_is_composed_cannot_be_renamed_and_is_refused() -> None:
    with pytest.raises(BuildError, match=r"x\.py:1: an f-string with the name of a module"):
        renamed('import_module(f"ci.bench.{name}")\n', "x.py")
    assert renamed('f"{__name__}.{name} ci."\n', "x.py") == 'f"{__name__}.{name} ci."\n'


ONE_CASE = "conformance/cases/produce/test_acks.py::test_acks_1_returns_the_base_offset[Produce-v3]"
FENCED_CASE = (
    "conformance/cases/init_producer_id/test_idempotence.py::"
    "test_an_older_epoch_is_fenced[Produce-v3]"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return folder / wheel_backend.build_wheel(str(folder))


def test_the_wheel_installs_one_package_without_tests_but_with_all_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"touchstone"}
    assert [name for name in names if "/tests/" in name] == []
    for needed in (
        "conformance/cases/produce/test_acks.py",
        "reference_impl/wire/schemas/kafka-4.3.1.json",
        "ci/report/templates/run.html.j2",
        "ci/tools/toxiproxy/go.mod",
        "ci/tools/kafka/4.3.1/pom.xml",
        "linearizability/porcupy/go/go.mod",
        "chaos/means/shim/shim.c",
        "chaos/clients/java/KafkaClients.java",
        "requirements-go.lock",
    ):
        assert f"touchstone/{needed}" in names


def test_it_works_in_a_project_that_has_packages_of_the_same_names(
    wheel: Path, tmp_path: Path
) -> None:
    for name in wheel_backend.PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the user\\'s own')\n")
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    out = run_with_the_base_alone(
        tmp_path,
        f"conform --target reference --only {ONE_CASE} --json --out runs/mine.json"
        " --junit runs/mine.xml --sarif runs/mine.sarif --summary runs/mine.md",
    )
    assert '"failed": 0' in out and '"passed": 1' in out
    assert f"touchstone conform --only '{ONE_CASE}' --target reference" in out
    assert str(places.ROOT) not in out
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--pyargs", "-k", "older_epoch and Produce-v3"),
            *("touchstone.conformance.cases.init_producer_id.test_idempotence", "-p"),
            *("no:cacheprovider", "--target", "reference", "--bug", "accept-zombie-writes"),
        ],
        cwd=tmp_path / "installed",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert f"reproduce: touchstone conform --only '{FENCED_CASE}'" in done.stdout, done.stderr
    run_with_the_base_alone(tmp_path, "ui runs --static runs")
    assert "mine.json" in (tmp_path / "runs" / "index.html").read_text()
    doctor = run_with_the_base_alone(tmp_path, "doctor")
    assert "toxiproxy" in doctor
    assert "kafkajs" not in doctor and "chromium" not in doctor, "the wheel has no tests"
    assert "ci.airgap" not in doctor and "make setup" not in doctor


def run_with_the_base_alone(folder: Path, command: str) -> str:
    """Run a command of the package installed in a folder as if no extra were installed, and return
    its standard output."""
    program = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(name, name=name.partition(".")[0])

sys.meta_path.insert(0, NotInstalled())
sys.path.insert(0, "installed")
from touchstone.ci.cli import app

app({command.split()})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "installed"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
