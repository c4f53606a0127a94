"""End the faults that the owner's commands have begun. Each fault is noted in a file first: if
Touchstone is killed, its next command ends the fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from chaos.means import owed
from chaos.means.owed import Repair
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_file import FAULT_COMMANDS, ForeignNode
from chaos.values.protocols import TargetError


class Undoings:
    """The commands that end the active faults. Each is also written to a file, so that a later
    command can run it if this one is killed."""

    def __init__(self, nodes: Sequence[ForeignNode], folder: Path) -> None:
        self._nodes = nodes
        self._folder = folder
        self._owed: dict[tuple[int, str], owed.Note] = {}

    def strike(self, number: int, key: str, **holes: object) -> None:
        """Run the command `key` of a node, which begins a fault, after noting the one that ends it.
        holes: the values for the placeholders of the command. Raise TargetError if the note cannot
        be written or the command fails."""
        node, undo = self._nodes[number - 1], FAULT_COMMANDS[key][0]
        if (number, undo) not in self._owed:
            repair = Repair.of_command(node.address, node.faults[undo], self._folder)
            try:
                self._owed[number, undo] = owed.Note(repair)
            except OSError as error:
                raise TargetError(
                    f"cannot write the note that ends {key} of node {number}: {error.strerror};"
                    " set TMPDIR"
                ) from error
        run(filled(node.faults[key], holes), self._folder)

    def undo(self) -> list[int]:
        """End the active faults, and return their nodes, sorted. Try each, even after one failed.
        Raise TargetError at the end if a fault could not be ended; it stays active."""
        helped, failure = [], None
        for (number, undo), note in list(self._owed.items()):
            try:
                run(self._nodes[number - 1].faults[undo], self._folder)
            except TargetError as error:
                failure = failure or error
                continue
            note.settle()
            del self._owed[number, undo]
            helped.append(number)
        if failure is not None:
            raise failure
        return sorted(set(helped))


def filled(command: Iterable[str], holes: Mapping[str, object]) -> list[str]:
    """Return the words of a command with {placeholders} replaced by these values."""
    words = []
    for word in command:
        for name, value in holes.items():
            word = word.replace(f"{{{name}}}", str(value))
        words.append(word)
    return words
