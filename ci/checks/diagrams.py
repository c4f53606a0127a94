"""Draw the state diagrams of the READMEs from the transition tables that the code uses.

`python -m ci.checks --draw` draws them again.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

Table = Mapping[Enum, Mapping[Enum, Enum]]
DIAGRAMS = {
    "classic-group": (
        "reference_impl/README.md",
        "reference_impl.core.groups.classic.states:CLASSIC_GROUP",
    ),
    "consumer-group": (
        "reference_impl/README.md",
        "reference_impl.core.groups.consumer.model.states:CONSUMER_GROUP",
    ),
    "consumer-group-member": (
        "reference_impl/README.md",
        "reference_impl.core.groups.consumer.model.states:CONSUMER_MEMBER",
    ),
    "transaction": (
        "reference_impl/README.md",
        "reference_impl.core.transactions.states:TRANSACTION",
    ),
    "shard": ("reference_impl/README.md", "reference_impl.core.shards.states:SHARD"),
    "raft": ("reference_impl/README.md", "reference_impl.core.quorum.states:RAFT"),
    "sasl": ("reference_impl/README.md", "reference_impl.core.security.sasl.states:SASL"),
    "producer": (
        "reference_impl/client/README.md",
        "reference_impl.client.producing.transactions.states:PRODUCER",
    ),
    "member": (
        "reference_impl/client/README.md",
        "reference_impl.client.group.classic.states:MEMBER",
    ),
    "consumer-member": (
        "reference_impl/client/README.md",
        "reference_impl.client.group.consumer.states:CONSUMER_MEMBER",
    ),
}
"""Name of a diagram -> (the README that contains its marks, module:TABLE)."""

MARKS = "<!-- diagram: {} (python -m ci.checks --draw) -->", "<!-- end of diagram -->"


def drawn(table: Table) -> str:
    """Return a Mermaid state diagram: one arrow for each pair of states, labelled with all
    transitions between them."""
    lines = ["```mermaid", "stateDiagram-v2"]
    for start, moves in table.items():
        causes: dict[Enum, list[str]] = {}
        for move, end in moves.items():
            causes.setdefault(end, []).append(move.name)
        lines += [
            f"    {start.name} --> {end.name}: {', '.join(sorted(names))}"
            for end, names in causes.items()
        ]
    return "\n".join([*lines, "```"])


def with_diagrams(text: str, diagrams: Iterable[tuple[str, str]]) -> str:
    """Return the text of a README with each diagram between its marks. Raise ValueError if the
    marks are missing."""
    for name, diagram in diagrams:
        begin, end = MARKS[0].format(name), MARKS[1]
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"has no lines {begin!r} and {end!r} for the diagram {name}; add them")
        text = pattern.sub(lambda _, new=f"{begin}\n{diagram}\n{end}": new, text)  # type: ignore[misc]
    return text


def readmes() -> dict[str, list[tuple[str, str]]]:
    """Return README path -> its diagrams, each as (name, Mermaid text)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, (readme, place) in DIAGRAMS.items():
        module, _, variable = place.partition(":")
        table: Any = getattr(import_module(module), variable)
        found.setdefault(readme, []).append((name, drawn(table)))
    return found


def diagram_violations(root: Path) -> list[str]:
    """Return a sentence for each README whose diagrams differ from the transition tables, or lack
    their marks."""
    problems = []
    for readme, diagrams in readmes().items():
        file = root / readme
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8")
        try:
            if with_diagrams(text, diagrams) != text:
                problems.append(f"{readme}: a diagram is old; run `python -m ci.checks --draw`")
        except ValueError as error:
            problems.append(f"{readme}: {error}")
    return problems


def draw_diagrams(root: Path) -> None:
    """Redraw every diagram in the READMEs from its table of transitions. Raise ValueError if a
    README lacks a diagram's marks."""
    for readme, diagrams in readmes().items():
        file = root / readme
        file.write_text(with_diagrams(file.read_text(encoding="utf-8"), diagrams), encoding="utf-8")
