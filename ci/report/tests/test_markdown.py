"""Text from strangers (names of topics, errors, targets) is only text in summary.md."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markdown import Markdown

from ci.report.markdown import code, plain

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "http://evil.example",
    "www.evil.example",
    "a|b||c",
    "`a`",
    "a\n\n# b\n| c | d |",
    "**a** _b_ ~~c~~",
    "@everyone #1",
    "&lt;b&gt;",
    "\\",
    "a\\|b",
    "$x$",
    "\x1b[31mred",
    "\u202eevil",
    "- a",
    "1. a",
    "<!-- a",
    "```",
    "``a``",
]
TEXT, CODE = "text", "code_inline"


def inlines(document: str) -> list[list[tuple[str, str]]]:
    """Return each line of a document as it is parsed: kinds of content, and the texts."""
    tokens = [token for token in Markdown(document).parsed if token.type == "inline"]
    return [[(part.type, part.content) for part in token.children or ()] for token in tokens]


def cells(*texts: str) -> list[list[tuple[str, str]]]:
    """Return the cells of a table's one row."""
    found = inlines(f"|{'a|' * len(texts)}\n|{'-|' * len(texts)}\n| {' | '.join(texts)} |\n")
    assert len(found) == 2 * len(texts)
    return found[len(texts) :]


def text_of(cell: list[tuple[str, str]]) -> str:
    """Return the text of a cell, which has nothing else."""
    assert {kind for kind, _ in cell} <= {TEXT, "text_special"}
    return "".join(content for _, content in cell)


def as_shown(text: str) -> str:
    """Return the text on one line, with a visible sign for each invisible character."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_stranger_wrote_is_text(text: str) -> None:
    first, second = cells(f"x {plain(text)}", plain("beside"))
    assert text_of(first) == f"x {as_shown(text)}".rstrip()
    assert text_of(second) == "beside"


@given(text=st.text())
def test_any_text_is_text(text: str) -> None:
    first, second = cells(f"x {plain(text)} y", "beside")
    assert text_of(first).split() == ["x", *as_shown(text).split(), "y"]
    assert text_of(second) == "beside"


def test_an_address_is_no_link() -> None:
    """GitHub would turn the address into a link (GFM, autolinks)."""
    text = plain("see https://evil.example and WWW.evil.example, or ftp://evil.example")
    assert not re.search(r"(?i)https?://|ftp://|www\.", text)


@pytest.mark.parametrize(
    "words",
    [
        ["touchstone", "conform", "-k", "a  b"],
        ["touchstone", "conform", "-k", "a | `b` $(c) 'd' \\ \"e\""],
        ["touchstone", "conform", "-k", "a\nb\t'c' \\ \x1b"],
        ["touchstone", "conform", "-k", "a|b"],
    ],
)
def test_a_command_is_pasted_as_it_was(words: list[str]) -> None:
    """Bash reads the same words from what is shown, in a table and elsewhere."""
    command = shlex.join(words)
    for line in (cells(code(command, in_table=True))[0], inlines(code(command))[0]):
        ((kind, shown),) = line
        assert kind == CODE
        told = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {shown}"], capture_output=True, text=True, check=True
        )
        assert told.stdout.split("\0")[:-1] == words
