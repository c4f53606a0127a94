"""Decisions of the reference broker, each replaced by another one: what the cases must notice.

The tables are the `.txt` files of this folder, one per area. A row is

    [name] file of reference_impl/core | regex of the cases that notice it (id and name)
    -the code of the decision
    +the code that replaces it

and `!` and a reason instead of `|` and a regex, if no case notices it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CORE = Path(__file__).parents[3] / "reference_impl" / "core"
_HEAD = re.compile(r"\[(?P<name>[\w-]+)\] (?P<file>\S+) (?P<kind>[|!]) (?P<rest>.+)")


@dataclass(frozen=True)
class Decision:
    """A decision and its replacement. `cases` is empty if no case notices it, for the reason."""

    name: str
    file: str
    old: str
    new: str
    cases: str = ""
    reason: str = ""

    @property
    def module(self) -> str:
        """The module that decides."""
        return "reference_impl.core." + self.file.removesuffix(".py").replace("/", ".")

    def replaced(self, source: str) -> str:
        """Return the module's source with the other decision. Raise ValueError unless the code
        of the decision occurs exactly once."""
        if (times := source.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its code occurs {times} times in {self.file}, not once")
        return source.replace(self.old, self.new)


def _read(text: str) -> list[Decision]:
    found = []
    for block in re.split(r"^(?=\[)", text, flags=re.MULTILINE)[1:]:
        head, *lines = block.removesuffix("\n").split("\n")
        if (named := _HEAD.fullmatch(head)) is None:
            raise ValueError(f"not the first line of a decision: {head}")
        old, new = ("\n".join(x[1:] for x in lines if x[0] == sign) for sign in "-+")
        noticed = named["kind"] == "|"
        cases, reason = (named["rest"], "") if noticed else ("", named["rest"])
        found.append(Decision(named["name"], named["file"], old, new, cases, reason))
    return found


def decisions() -> dict[str, Decision]:
    """Return name -> decision, of all tables. Raise ValueError for a name that occurs twice."""
    found: dict[str, Decision] = {}
    for table in sorted(Path(__file__).parent.glob("*.txt")):
        for each in _read(table.read_text()):
            if found.setdefault(each.name, each) is not each:
                raise ValueError(f"{each.name} is the name of two decisions")
    return found
