"""The cluster that a command means: --target, --cluster, or the touchstone.toml nearby."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.listing import list_for
from chaos.targets import parse_target
from ci.cli import app
from ci.commands.options import chosen_target
from ci.errors import UsageError

DESCRIBED = '[[node]]\naddress = "127.0.0.1:9092"\nstart = "s"\npid_file = "p"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder in which somebody works, two below that of the file."""
    (tmp_path / "touchstone.toml").write_text(DESCRIBED)
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    return tmp_path


def test_the_file_is_found_upwards_and_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen_target(None, None) == "../../touchstone.toml"
    assert (
        capsys.readouterr().err
        == "touchstone: using the cluster that ../../touchstone.toml describes\n"
    )
    (project / "a" / "touchstone.toml").write_text(DESCRIBED)
    assert chosen_target(None, None) == "../touchstone.toml"


def test_a_named_target_or_file_goes_first(project: Path) -> None:
    assert chosen_target("reference", None) == "reference"
    assert chosen_target(None, Path("mine.toml")) == "mine.toml"


@pytest.mark.parametrize(
    ("target", "cluster", "said"),
    [
        ("reference", Path("mine.toml"), "give one of them"),
        (None, Path("mine.yaml"), "name a file that ends in .toml"),
        (None, None, "nothing names a target; give --target NAME, or --cluster FILE, or write a"),
    ],
)
def test_what_names_no_target_is_one_sentence(
    target: str | None,
    cluster: Path | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        chosen_target(target, cluster)


@pytest.mark.parametrize(
    "typed",
    [
        ["conform", "--bootstrap", ""],
        ["conform", "--target", ""],
        ["status", "--bootstrap", " "],
        ["chaos", "run", "--workload", "appends", "--target", ""],
    ],
    ids=" ".join,
)
def test_an_unset_variable_does_not_turn_a_command_to_another_cluster(
    typed: list[str], project: Path
) -> None:
    done = CliRunner().invoke(app, typed)
    assert done.exit_code == 2
    assert "names nothing; is a variable not set?" in done.output


def test_the_list_says_which_nemeses_a_cluster_allows_and_what_the_others_lack(
    project: Path,
) -> None:
    lines = {
        line.split()[0]: line.partition("  ")[2].split(None, 1)[1].strip()
        for line in list_for(parse_target(str(project / "touchstone.toml"))).splitlines()[1:]
    }
    assert lines["kill-leader"] == lines["rolling-restart"] == lines["none"] == "yes"
    assert lines["partition-leader"] == "no: it lacks Isolate"
    assert lines["kill"] == "no: it lacks CutClients, DelayAnswers"
