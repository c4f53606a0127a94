"""Apache's command-line tools, many of them in one JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reference_impl.wire.tests.java_oracle import launch

SOURCE = Path(__file__).parent / "java" / "Tools.java"


@dataclass(frozen=True)
class Call:
    """One run of a tool, under a name of the test's own."""

    name: str
    tool: str
    arguments: tuple[str, ...]
    typed: tuple[str, ...] = ()

    def line(self) -> str:
        typed = "".join(f"{each}|" for each in self.typed)
        return "\t".join((self.name, self.tool, typed, *self.arguments))


@dataclass(frozen=True)
class Said:
    """The output of a tool, and the status with which it ended."""

    status: int
    text: str

    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line]


def run_tools(calls: Iterable[Call], folder: Path) -> dict[str, Said]:
    """Run them in this order: name -> what it said."""
    script = folder / "tools"
    script.write_text("".join(f"{call.line()}\n" for call in calls))
    printed = launch(SOURCE, "4.3.1", str(script))
    parts = re.split(r"^=== (\S+) (\d+)$", printed, flags=re.MULTILINE)
    said = {
        name: Said(int(status), text)
        for name, status, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }
    missing = [call.name for call in calls if call.name not in said]
    assert not missing, f"not run: {missing}; {printed[-2000:]}"
    return said
