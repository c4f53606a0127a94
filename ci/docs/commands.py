"""Check the commands in the documents: each must parse, and each block of a guide must say whether
a test runs it.

`<!-- run -->` above a block: a test runs it. `<!-- run nightly: exit status 1 -->`: the long tests
run it and expect this exit status. `<!-- not run: why -->`: its options are parsed, but nothing is
started.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from ci import places
from ci.cli import app
from ci.docs.site import DOCS

GUIDES = ("start", "extend")
"""The folders of docs in which each block of commands must be marked."""
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>(?:not )?run[^>]*?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
INLINE = re.compile(r"(?<!`)`(touchstone [^`\n]+)`(?!`)")
STATUS = re.compile(r"exit status (\d)")
COMMENT = re.compile(r"\s{3,}\S.*$|\s+#.*$")
"""The pattern of a comment after a command."""
PROGRAM = "touchstone"


@dataclass(frozen=True)
class Block:
    """The commands of one block of code. mark: the comment above the block that says whether a test
    runs it, or ""."""

    source: str
    line: int
    mark: str
    commands: tuple[str, ...]

    @property
    def is_run(self) -> bool:
        return self.mark.startswith("run")

    @property
    def is_long(self) -> bool:
        return self.mark.startswith("run nightly")

    @property
    def exit_status(self) -> int:
        """The exit status that the mark expects of the block's last command, or 0 if it names
        none."""
        found = STATUS.search(self.mark)
        return int(found[1]) if found else 0


def documents() -> list[Path]:
    """Return every document from which a reader may copy a command."""
    inside = [places.ROOT / f"{folder}/README.md" for folder in ("chaos", "conformance")]
    return [places.ROOT / "README.md", *inside, *sorted(DOCS.rglob("*.md"))]


def blocks(file: Path) -> Iterator[Block]:
    """Yield each code block (of shell commands, or of no stated language) that contains a
    `touchstone` or `make` command."""
    text = file.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if found["kind"] in ("", "sh", "bash", "console"):
            lines = (
                COMMENT.sub("", line).strip()
                for line in found["body"].replace("\\\n", " ").splitlines()
            )
            commands = tuple(line for line in lines if line.startswith((f"{PROGRAM} ", "make ")))
            if commands:
                line = text.count("\n", 0, found.start()) + 1
                yield Block(places.shown(file), line, found["mark"] or "", commands)


def every_command(file: Path) -> Iterator[str]:
    """Yield each `touchstone` command in a document: those of the code blocks, then those in
    running text."""
    for block in blocks(file):
        yield from (line for line in block.commands if line.startswith(PROGRAM))
    text = re.sub(
        r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    yield from INLINE.findall(text)


def problem_of(command: str) -> str:
    """Return a sentence about the first word that the command line would refuse: a command or an
    option that does not exist, or a quote that is not closed. Return "" if there is none. Values
    are not checked, nor what follows a pipe or semicolon, and nothing is run."""
    line = command.partition(" | ")[0].partition(";")[0].replace("[--", "--").replace("]", "")
    try:
        words = [word for word in shlex.split(line)[1:] if word not in ("…", "...")]
    except ValueError as error:
        return f"{command}: {error}"
    found: Any = get_command(app)
    name = PROGRAM
    while isinstance(found, TyperGroup) and words and not words[0].startswith("-"):
        inner = found.commands.get(words[0])
        if inner is None:
            if found.invoke_without_command:
                break
            return f"{command}: there is no command {name} {words[0]}"
        found, name, words = inner, f"{name} {words[0]}", words[1:]
    known = {word for each in found.params for word in (*each.opts, *each.secondary_opts)}
    known |= {"--help"}
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and option not in known and not _is_number(option):
            return f"{command}: {name} has no option {option}"
    return ""


def _is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdigit()
