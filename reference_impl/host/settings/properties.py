"""Read and write files of settings in the format of java.util.Properties, such as Kafka's
server.properties.

Source: java.util.Properties.load(InputStream) and store, ISO 8859-1 with escapes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reference_impl.core.configs.keys import BadConfig

BLANKS = " \t\f"
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.)", re.DOTALL)
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", **{character: f"\\{name}" for name, character in _MEANT.items()}}


def read(file: Path) -> dict[str, str]:
    """Return the settings of a file; if a key occurs twice, the last one counts. Raise BadConfig if
    it cannot be read, or a line has no key or a wrong escape."""
    try:
        text = file.read_bytes().decode("iso-8859-1")
    except OSError as error:
        raise BadConfig(
            f"{file}: {error.strerror}; name a file of settings, KEY=VALUE on each line"
        ) from error
    found = {}
    for number, line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match is None or not match[1]:
            raise BadConfig(f"{file}, line {number}: no key; write KEY=VALUE, with Kafka's own key")
        where = f"{file}, line {number}"
        found[_plain(match[1], where)] = _plain(match[2], where)
    return found


def as_text(settings: Mapping[str, str]) -> str:
    """Return the settings in the format of java.util.Properties; a value of several lines, such as
    a PEM key, becomes one line."""
    return "".join(
        f"{_escaped(key, '=: #!')}={_escaped(value)}\n" for key, value in settings.items()
    )


def _escaped(text: str, more: str = "") -> str:
    """Return a key or a value with escapes: for special characters, for those in `more`, and for
    a blank at its beginning."""
    found = []
    for at, character in enumerate(text):
        if character in _WRITTEN:
            found.append(_WRITTEN[character])
        elif character in more or (character == " " and at == 0):
            found.append(f"\\{character}")
        elif character > "~":
            units = character.encode("utf-16-be")
            found += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
        else:
            found.append(character)
    return "".join(found)


def write_private(file: Path, settings: Mapping[str, str]) -> None:
    """Write a file, in place of an existing one, that only this user can read, since the settings
    may contain passwords. Create its directory if necessary."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as writer:
        writer.write(as_text(settings))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is neither empty nor a comment. Join a line
    that ends in a backslash with the next one."""
    begun: list[str] = []
    first = 0
    for number, natural in enumerate(_LINE_ENDS.split(text), 1):
        line = natural.lstrip(BLANKS)
        if not begun:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        begun.append(line[:-1] if backslashes % 2 else line)
        if backslashes % 2 == 0:
            yield first, "".join(begun)
            begun = []
    if begun and "".join(begun):
        yield first, "".join(begun)


def _plain(text: str, where: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        name = escape[1]
        if name == "u":
            raise BadConfig(f"{where}: \\u without four hexadecimal digits; write \\\\u or \\u00e4")
        return chr(int(name[1:], 16)) if len(name) == 5 else _MEANT.get(name, name)

    return _ESCAPE.sub(meant, text)
