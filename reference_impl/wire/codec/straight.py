"""Generate straight-line code for a struct, as a person would write it by hand for one version.

Readers and writers that loop over a list of fields spend most of their time on the loop, so the
loop is unrolled into source text, once per (struct, version): one line per field, and one line for
each run of fixed-size numbers, which `struct` packs in one call. The number of the line that raised
an error identifies the field, so that valid input does not pay for error handling.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

from reference_impl.wire.codec.primitives import Codec, Reader, Writer
from reference_impl.wire.malformed import READ_ERRORS, WRITE_ERRORS, unreadable, unwritable

TAGS = "tagged_fields"  # what a path calls the section of KIP-482
Constants = Sequence[tuple[str, Any]]
Factories = Sequence[tuple[str, Callable[[], Any]]]
TagsReader = Callable[[memoryview, int, Any], int]
TagsWriter = Callable[[list[Any], Any], None]


class Step(NamedTuple):
    """One line of the generated code: a field, or a run of numbers (then `letters` are their
    formats)."""

    names: list[str]
    letters: str
    codec: Codec | None


def steps_of(plain: Sequence[tuple[str, Codec]]) -> list[Step]:
    """Return the fields in their order, with adjacent fixed-size numbers joined into runs."""
    steps: list[Step] = []
    for name, codec in plain:
        if not codec.format:
            steps.append(Step([name], "", codec))
        elif steps and steps[-1].letters:
            names, letters, _ = steps[-1]
            steps[-1] = Step([*names, name], letters + codec.format, None)
        else:
            steps.append(Step([name], codec.format, None))
    return steps


def make_reader(
    cls: type[Any],
    plain: Sequence[tuple[str, Codec]],
    constants: Constants,
    factories: Factories,
    read_tags: TagsReader | None,
) -> Reader:
    """Return a reader of this struct. constants and factories give the values of fields that the
    version lacks."""
    values: dict[str, Any] = {"cls": cls, "new": cls.__new__, "ERRORS": READ_ERRORS}
    lines = ["def made(buffer, position):", " message = new(cls)", " message.unknown_tags = None"]
    for name, value in constants:
        values[f"constant_{name}"] = value
        lines.append(f" message.{name} = constant_{name}")
    for name, factory in factories:
        values[f"factory_{name}"] = factory
        lines.append(f" message.{name} = factory_{name}()")
    steps = steps_of(plain)
    lines.append(" try:")
    first = len(lines) + 1
    for number, step in enumerate(steps):
        targets = ", ".join(f"message.{name}" for name in step.names)
        if step.codec is None:
            run = struct.Struct(">" + step.letters)
            values[f"read_{number}"] = run.unpack_from
            lines.append(f"  {targets}, = read_{number}(buffer, position); position += {run.size}")
        else:
            values[f"read_{number}"] = step.codec.read
            lines.append(f"  {targets}, position = read_{number}(buffer, position)")
    if read_tags is not None:
        values["read_tags"] = read_tags
        lines.append("  if buffer[position]: position = read_tags(buffer, position, message)")
        lines.append("  else: position += 1")
    if lines[-1] == " try:":
        lines.append("  pass")

    def explained(error: Exception, buffer: memoryview, position: int) -> Exception:
        line = error.__traceback__.tb_lineno - first if error.__traceback__ else len(steps)
        name = _name_read(steps[line], position, len(buffer)) if line < len(steps) else TAGS
        return unreadable(error, name)

    values["explained"] = explained
    lines += [
        " except ERRORS as error:",
        "  raise explained(error, buffer, position) from None",
        " return message, position",
    ]
    made: Reader = _made("\n".join(lines), values)
    return made


def _name_read(step: Step, position: int, end: int) -> str:
    """Return the name of the first number of a run that lies beyond the end of the bytes."""
    for name, letter in zip(step.names, step.letters, strict=False):
        position += struct.calcsize(letter)
        if position > end:
            return name
    return step.names[-1]


def make_writer(
    plain: Sequence[tuple[str, Codec]], write_tags: TagsWriter | None, tagged: Constants
) -> Writer:
    """Return a writer of the fields of this version in their order, then of the tagged fields:
    those in `tagged` that differ from their default, and unknown ones."""
    values: dict[str, Any] = {"ERRORS": WRITE_ERRORS}
    lines = ["def made(out, message):", " try:"]
    steps = steps_of(plain)
    for number, step in enumerate(steps):
        sources = ", ".join(f"message.{name}" for name in step.names)
        if step.codec is None:
            values[f"write_{number}"] = struct.Struct(">" + step.letters).pack
            lines.append(f"  out.append(write_{number}({sources}))")
        else:
            values[f"write_{number}"] = step.codec.write
            lines.append(f"  write_{number}(out, {sources})")
    if write_tags is not None:
        values["write_tags"] = write_tags
        values |= {f"default_{name}": default for name, default in tagged}
        differences = [f"message.{name} != default_{name}" for name, _ in tagged]
        lines.append(f"  if {' or '.join(['message.unknown_tags', *differences])}:")
        lines.append("   write_tags(out, message)")
        lines.append("  else: out.append(b'\\0')")
    if lines[-1] == " try:":
        lines.append("  pass")

    def explained(error: Exception, message: Any) -> Exception:
        line = error.__traceback__.tb_lineno - 3 if error.__traceback__ else len(steps)
        if line >= len(steps):
            return unwritable(error, TAGS, message.unknown_tags)
        name = _name_written(steps[line], message)
        return unwritable(error, name, getattr(message, name, None))

    values["explained"] = explained
    lines += [" except ERRORS as error:", "  raise explained(error, message) from None"]
    made: Writer = _made("\n".join(lines), values)
    return made


def _name_written(step: Step, message: Any) -> str:
    """Return the name of the first number of a run that `struct` cannot pack."""
    for name, letter in zip(step.names, step.letters, strict=False):
        try:
            struct.pack(">" + letter, getattr(message, name))
        except WRITE_ERRORS:
            return name
    return step.names[-1]


def make_init(names: Sequence[str], constants: Constants, factories: Factories) -> Any:
    """Return the `__init__` of a struct, which takes every field as a keyword with its default."""
    values: dict[str, Any] = {"missing": object()}
    defaults = dict(constants)
    arguments, lines = [], []
    for name in names:
        if name in defaults:
            values[f"constant_{name}"] = defaults[name]
            arguments.append(f"{name}=constant_{name}")
            lines.append(f" self.{name} = {name}")
        else:
            values[f"factory_{name}"] = dict(factories)[name]
            arguments.append(f"{name}=missing")
            lines.append(f" self.{name} = factory_{name}() if {name} is missing else {name}")
    arguments += ["unknown_tags=None", "**unknown"]
    head = [
        f"def made(self, /, *, {', '.join(arguments)}):",
        " if unknown: self.refuse(unknown)",
        " self.unknown_tags = unknown_tags",
    ]
    return _made("\n".join([*head, *lines]), values)


# Most structs look the same in most versions: their text is compiled once.
@lru_cache(None)
def _compiled(source: str) -> CodeType:
    return compile(source, "<straight-line code of a Kafka struct>", "exec")


def _made(source: str, values: dict[str, Any]) -> Any:
    # Only names out of the field tables get into the text, and those are Python identifiers.
    exec(_compiled(source), values)
    return values["made"]
