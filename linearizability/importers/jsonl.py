"""Read JSON lines, with one event per line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from linearizability.files.unreadable import shown
from linearizability.history import HistoryError

Form = tuple[int, Any, str | None]
"""(line number, value, text) of one event in the file. text is None if the reader has already
checked that no map has a key twice; otherwise it is the JSON, for `checked_again`."""

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def is_json(lines: Iterable[tuple[int, str]]) -> bool:
    """Return whether the first line that is not blank begins as an object of JSON does. Return
    False if all are blank."""
    for _, text in lines:
        if content := text.strip():
            return content[:1] == "{" and content[1:].lstrip()[:1] == '"'
    return False


def forms(lines: Iterable[tuple[int, str]], source: str) -> Iterator[Form]:
    """Yield (line, value, text) for each line that is not blank. A key that a map has twice is not
    noticed here: see `checked_again`. Raise HistoryError, naming the line, if one is not JSON."""
    for line, text in lines:
        try:
            value, end = _scan(text, 0)
        except (ValueError, StopIteration, RecursionError):
            end = -1
        if end < len(text) - 1 or text[-1] != "\n":
            if end == len(text):
                yield line, value, text
            elif content := text.strip():
                yield line, _slowly(content, line, source), content
        else:
            yield line, value, text


def _slowly(text: str, line: int, source: str) -> Any:
    """Return the value of a line, spaces around it included. Raise HistoryError with the reason if
    it is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        why = error.msg
    except ValueError:
        why = "a number has too many digits"
    except RecursionError:
        why = "nested too deeply"
    raise HistoryError(
        f"{source}: line {line}: not a complete JSON object ({why}); write one event a line"
    )


def checked_again(text: str, line: int, source: str) -> None:
    """Raise HistoryError if a map of the line has a key twice: the first value would be lost."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        keys = set()
        for key, _ in pairs:
            if key in keys:
                raise HistoryError(
                    f"{source}: line {line}: a map has the key {shown(key)} twice; "
                    "write each key once"
                )
            keys.add(key)

    json.loads(text, object_pairs_hook=unique)
