"""Files that other people's pipelines use: the image, the action, the examples of docs/ci."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ci import places
from ci.docs.commands import problem_of

DIGEST = re.compile(r"python:3\.11-slim\S*?(@sha256:[0-9a-f]{64})")
EXAMPLES = places.ROOT / "docs" / "ci"
COMMAND = re.compile(r"\btouchstone((?: (?!&&|\|\||>|<|')\S+)+)")


def commands_in(path: Path) -> list[str]:
    """Return every command of ours that a script or a pipeline has, as far as the shell's
    operators."""
    lines = (line.split(" # ")[0] for line in path.read_text(encoding="utf-8").splitlines())
    found = [match for line in lines for match in COMMAND.findall(line)]
    return [f"touchstone{words}".rstrip("'") for words in found]


@pytest.mark.parametrize("name", ["gitlab.yml", "Jenkinsfile", "crontab"])
def test_every_command_in_an_example_is_one_that_there_is(name: str) -> None:
    commands = commands_in(EXAMPLES / name)
    assert commands
    assert [problem for each in commands if (problem := problem_of(each))] == []


def test_the_image_has_the_base_of_docker_compose_and_copies_what_there_is() -> None:
    dockerfile = (places.ROOT / "Dockerfile").read_text()
    compose = (places.ROOT / "docker-compose.yml").read_text()
    [wanted] = set(re.findall(r"python:3\.11-slim\S*(@sha256:[0-9a-f]{64})", compose))
    assert set(DIGEST.findall(dockerfile)) == {wanted}
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.M)) == {"${PYTHON}"}
    ignored = (places.ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", ".cache", "runs"} <= set(ignored)
    [setup] = re.findall(r"bin/touchstone (setup [a-z ]+[a-z])", dockerfile)
    assert problem_of(f"touchstone {setup}") == ""


def test_the_action_gives_options_that_there_are_and_pins_what_it_uses() -> None:
    action = yaml.safe_load((places.ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    for used in (step["uses"] for step in steps if "uses" in step):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used), used
    script = steps[-1]["run"]
    both = re.search(r"more=\((.*)\)", script)
    assert both
    for name in ("conform", "chaos run"):
        own = re.search(rf'"?{name}"?\) more\+=\((.*)\) ;;', script)
        assert own
        options = f"{both[1]} {own[1]} --cluster x.toml"
        assert problem_of(f"touchstone {name} {options}") == ""
    used_inputs = set(re.findall(r"inputs\.([\w-]+)", (places.ROOT / "action.yml").read_text()))
    assert used_inputs == set(action["inputs"])


@pytest.mark.parametrize("file", ["github.yml", "gitlab.yml"])
def test_examples_are_yaml_and_use_inputs_that_the_action_has(file: str) -> None:
    example = yaml.safe_load((EXAMPLES / file).read_text())
    assert example
    if file == "github.yml":
        inputs = set(yaml.safe_load((places.ROOT / "action.yml").read_text())["inputs"])
        steps = [step for job in example["jobs"].values() for step in job["steps"]]
        ours = [step for step in steps if "touchstone@" in step.get("uses", "")]
        assert len(ours) == 2 and all(set(step["with"]) <= inputs for step in ours)
