"""Files that other people's pipelines use: the image, the action, the examples of docs/ci."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.core import TyperGroup

from ci import places
from ci.cli import app

DIGEST = re.compile(r"python:3\.11-slim\S*?(@sha256:[0-9a-f]{64})")
EXAMPLES = places.ROOT / "docs" / "ci"
COMMAND = re.compile(r"\btouchstone((?: (?!&&|\|\||>|<|')\S+)+)")
DOCUMENTS = ("README.md", "docs/foreign.md", "docs/plugins.md", "docs/plugin-template/README.md")


def commands_in(path: Path) -> list[list[str]]:
    """Return the words of every command of ours that a file has, as far as the shell's operators.
    In Markdown: those in code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        blocks = re.findall(r"```\n(.*?)```", text, re.S) + re.findall(
            r"`(touchstone [^`]+)`", text
        )
        text = "\n".join(blocks)
    lines = (line.split(" # ")[0].split("  #")[0] for line in text.splitlines())
    found = [match for line in lines for match in COMMAND.findall(line)]
    typed = [shlex.split(words.rstrip("'")) for words in found if "…" not in words]
    named_only = (["chaos", "run"], ["--help"])
    return [words for words in typed if words not in named_only]


def check_parses(words: list[str]) -> None:
    """Raise the command line's usage error for a command or option that there is none of."""
    command: Any = typer.main.get_command(app)
    context = None
    while isinstance(command, TyperGroup):
        context = command.make_context(command.name, list(words), parent=context)
        words = [*context._protected_args, *context.args]
        if not words:
            return
        _, command, words = command.resolve_command(context, words)
    command.make_context(command.name, list(words), parent=context)


@pytest.mark.parametrize("file", [*DOCUMENTS, *(f"docs/ci/{f.name}" for f in EXAMPLES.iterdir())])
def test_every_command_in_the_documents_is_one_that_there_is(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = commands_in(places.ROOT / file)
    for words in commands:
        check_parses(words)
    if file not in ("docs/ci/github.yml", "docs/ci/README.md", "docs/plugins.md"):
        assert commands, f"{file} has no command that this test knows"


@pytest.mark.parametrize(
    "words", [["chaos", "run", "--workload", "appends", "--no-such-option"], ["no-such-command"]]
)
def test_a_command_that_there_is_not_would_be_seen(words: list[str]) -> None:
    with pytest.raises(Exception, match="No such") as raised:
        check_parses(words)
    assert getattr(raised.value, "exit_code", None) == 2


def test_the_image_has_the_base_of_docker_compose_and_copies_what_there_is() -> None:
    dockerfile = (places.ROOT / "Dockerfile").read_text()
    compose = (places.ROOT / "docker-compose.yml").read_text()
    [wanted] = set(re.findall(r"python:3\.11-slim\S*(@sha256:[0-9a-f]{64})", compose))
    assert set(DIGEST.findall(dockerfile)) == {wanted}
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.M)) == {"${PYTHON}"}
    ignored = (places.ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", ".cache", "runs"} <= set(ignored)
    [setup] = re.findall(r"bin/touchstone (setup [a-z ]+[a-z])", dockerfile)
    check_parses(setup.split())


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
        options = shlex.split(f"{both[1]} {own[1]} --cluster x.toml")
        needed = ["--workload", "appends"] if name == "chaos run" else []
        check_parses([*name.split(), *needed, *options])
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
