"""The error types of this package, for bytes that are not the message that they claim to be."""

from __future__ import annotations

import struct
from typing import Self

# Python raises these when a reader runs past the end, or meets bytes that are not text;
# readers let it happen, so that the good case pays for no checks, and translate it on the way out.
READ_ERRORS = (struct.error, IndexError, ValueError)
WRITE_ERRORS = (struct.error, TypeError, AttributeError, ValueError)


class Malformed(ValueError):
    """The bytes are not a message of this schema and version, or a value does not fit into it.

    `message` says which message and version, `path` which field of it, `problem` what is wrong.
    """

    def __init__(self, problem: str, path: str = "", message: str = "") -> None:
        super().__init__(problem, path, message)
        self.problem, self.path, self.message = problem, path, message

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.message, self.path) if part)
        return f"{where}: {self.problem}" if where else self.problem

    def inside(self, step: str) -> Self:
        """Return the same error with `step`, a field name or `[index]`, in front of its path."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def of(self, message: str) -> Self:
        """Return the same error with the name of the message and version in which it occurred."""
        self.message = message
        return self


class CorruptRecord(Malformed):
    """A record batch contradicts itself (CORRUPT_MESSAGE or INVALID_RECORD)."""


class TooManyElements(Exception):
    """A message has more array elements, or tagged fields, than may be read or written in one go.
    It is not malformed, so no reader or writer converts this error to Malformed."""


class Budget:
    """The number of array elements and tagged fields that may still be read or written before
    TooManyElements."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = 0

    def spend(self, count: int) -> None:
        """Deduct the number of elements of an array, or of tagged fields, before any of them is
        read or written. Raise TooManyElements if fewer are left."""
        self.left -= count
        if self.left < 0:
            raise TooManyElements


def unreadable(error: Exception, step: str) -> Malformed:
    """Return the error that occurred while reading `step` as a Malformed."""
    if isinstance(error, Malformed):
        return error.inside(step)
    if isinstance(error, UnicodeDecodeError):
        return Malformed(f"not UTF-8: {error.reason} at byte {error.start}", step)
    if isinstance(error, struct.error | IndexError):
        return Malformed("the bytes end too early", step)
    return Malformed(str(error), step)


def unwritable(error: Exception, step: str, value: object) -> Malformed:
    """Return the error that occurred while writing `step` as a Malformed."""
    if isinstance(error, Malformed):
        return error.inside(step)
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return Malformed(f"cannot write {shown}: {error}", step)
