"""The help of each command: it ends with examples, which can be typed."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from ci.cli import COMMANDS, app
from ci.commands.attacking import chaos_app
from ci.commands.examining import conform_app
from ci.commands.examples import EXAMPLES
from ci.docs.commands import problem_of

INNER = (("conform", conform_app), ("chaos", chaos_app))
NAMES = [
    *(command.__name__ for command in COMMANDS),
    *(name for name, _ in INNER),
    *(f"{name} {each.name}" for name, inner in INNER for each in inner.registered_commands),
]

WITHOUT_A_RESULT = frozenset(
    {
        *("setup", "serve", "chaos"),
        *("report", "ui", "demo", "findings"),  # they write pages
        *("bench", "fuzz", "kills", "replay"),  # they print sentences and an exit status
    }
)
"""Commands that print no list, plan or result for a program."""


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_each_command_ends_with_examples(name: str) -> None:
    told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"})
    assert told.exit_code == 0
    behind = told.output.partition("Examples:")[2]
    for example in EXAMPLES[name]:
        assert example in behind
        assert problem_of(example) == ""


@pytest.mark.parametrize("name", sorted(set(NAMES) - WITHOUT_A_RESULT))
def test_each_command_with_a_result_prints_it_as_json_too(name: str) -> None:
    told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"})
    assert "--json" in told.output


@pytest.mark.parametrize("name", NAMES)
def test_no_help_is_wider_than_80_columns(name: str) -> None:
    told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"})
    assert max(len(line.rstrip()) for line in told.output.splitlines()) <= 80


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert set(EXAMPLES) == set(NAMES)
