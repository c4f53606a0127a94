"""EDN, as Jepsen writes its histories: lines -> plain Python values, with the line of each form.

Source: github.com/edn-format/edn. Keywords and symbols become strings (without the colon), lists,
vectors and sets become lists, tagged values lose their tag; numbers are int or float (N and M are
dropped, ratios are divided).

Jepsen writes one map a line. Such a line is turned into JSON first where it holds nothing that
the two understand differently (`edn_lines.py`): that takes a fraction of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from linearizability.files.unreadable import shown
from linearizability.history import HistoryError
from linearizability.importers import edn_lines
from linearizability.importers.edn_lines import DEPTH_MAX
from linearizability.importers.jsonl import Form

_TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<discard>\#_)
    |(?P<open>\#\{|[\[({])
    |(?P<close>[\])}])
    |(?P<tag>\#[A-Za-z][^\s,()\[\]{}"]*)
    |(?P<character>\\(?:u[0-9a-fA-F]{4}|[a-z]+|.))
    |(?P<atom>[^\s,()\[\]{}";\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_STRING_ENDS = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_CLOSING = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_INTEGER = re.compile(r"[+-]?[0-9]+N?")
_FLOAT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?M?")
_RATIO = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORDS = {"nil": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DISCARD = object()
DIGITS_MAX = 400
"""The number of digits that a number may have. No real history comes near it, and Python's own
limit is not much higher."""


class _Reader:
    """A reader of EDN tokens that knows the line it is at, for its error messages."""

    def __init__(self, lines: Iterable[tuple[int, str]], source: str) -> None:
        self.lines, self.source = iter(lines), source
        self.text, self.at, self.line = "", 0, 1
        self.depth = 0

    def refuse(self, why: str, line: int | None = None) -> HistoryError:
        return HistoryError(f"{self.source}: line {line or self.line}: {why}")

    def next_line(self) -> bool:
        """Go to the next line. Return whether there is one."""
        following = next(self.lines, None)
        if following is None:
            return False
        self.line, self.text = following
        self.at = 0
        return True

    def token(self) -> tuple[str, str] | None:
        """Go past the next token, on this line or a later one, and return its (kind, text), or None
        at the end of the file. Raise the reader's error for a string that is not closed, and for an
        unfinished character."""
        while self.at < len(self.text) or self.next_line():
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                return "string", self.string_of_lines()
            self.at = match.end()
            if match.lastgroup != "skip":
                return str(match.lastgroup), match.group()
        return None

    def string_of_lines(self) -> str:
        """Read on to the end of a string that ends on a later line than it begins, and return it
        with its quotes. Raise the reader's error if there is no string here, or if it is not
        closed."""
        if self.text[self.at] != '"':
            raise self.refuse("a character is missing behind '\\'; the file is not complete EDN")
        began, parts = self.line, [self.text[self.at :]]
        while self.next_line():
            if match := _STRING_ENDS.match(self.text):
                self.at = match.end()
                return "".join([*parts, match.group()])
            parts.append(self.text)
        raise self.refuse("a string is not closed; the file is not complete EDN", began)

    def value(self, token: tuple[str, str]) -> Any:
        """Read the rest of the value that begins with this token. Return the value, or _DISCARD if
        it must be left out. Raise the reader's error for a bracket that closes nothing, if forms
        are nested too deep, and for anything malformed in them."""
        kind, text = token
        if kind == "atom":
            return self.atom(text)
        if kind == "string":
            return _ESCAPE.sub(lambda m: _unescaped(m[1]), text[1:-1])
        if kind == "character":
            return _unescaped(text[1:]) if text[1:2] == "u" and len(text) == 6 else text[1:]
        if kind == "close":
            raise self.refuse(f"{text!r} closes nothing; this is not EDN")
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise self.refuse(f"forms are nested more than {DEPTH_MAX} deep")
        found = self.collection(text) if kind == "open" else self.behind(kind, text)
        self.depth -= 1
        return found

    def behind(self, kind: str, text: str) -> Any:
        """Return the value that follows a tag; for `#_`, read the value after it and return
        _DISCARD. Raise the reader's error if nothing follows."""
        following = self.token()
        while following is not None:
            inner = self.value(following)
            if inner is not _DISCARD:
                return _DISCARD if kind == "discard" else inner
            following = self.token()
        raise self.refuse(f"nothing follows {text!r}; the file is not complete EDN")

    def collection(self, opening: str) -> Any:
        closing, began = _CLOSING[opening], self.line
        found: list[Any] = []
        while (token := self.token()) is not None:
            if token[0] == "close":
                if token[1] != closing:
                    raise self.refuse(f"{token[1]!r} stands where {closing!r} should close")
                return self.mapping(found) if opening == "{" else found
            if (inner := self.value(token)) is not _DISCARD:
                found.append(inner)
        raise self.refuse(f"{opening!r} is not closed; the file is not complete EDN", began)

    def mapping(self, found: list[Any]) -> dict[Any, Any]:
        if len(found) % 2:
            raise self.refuse("a map has a key without a value")
        keys, names = found[::2], set()
        for key in keys:
            if isinstance(key, list | dict):
                raise self.refuse("a key of a map is itself a collection")
            name = str(key)  # a keyword, a text and a number that read alike are one key to us
            if name in names:
                raise self.refuse(f"a map has the key {shown(key)} twice; write each key once")
            names.add(name)
        return dict(zip(keys, found[1::2], strict=True))

    def atom(self, text: str) -> Any:
        if text[0] == ":":
            return text[1:]
        if text in _WORDS:
            return _WORDS[text]
        if len(text) > DIGITS_MAX and text.lstrip("+-")[:1].isdigit():
            raise self.refuse(f"a number has more than {DIGITS_MAX} digits")
        if _INTEGER.fullmatch(text):
            return int(text.rstrip("N"))
        if _FLOAT.fullmatch(text):
            return float(text.rstrip("M"))
        if (ratio := _RATIO.fullmatch(text)) and int(ratio[2]):
            return _divided(int(ratio[1]), int(ratio[2]))
        return text


def _divided(number: int, by: int) -> float:
    try:
        return number / by
    except OverflowError:
        return float("inf")


def _unescaped(letters: str) -> str:
    if letters[0] == "u" and len(letters) == 5:
        return chr(int(letters[1:], 16))
    return _ESCAPES.get(letters, letters)


def forms(lines: Iterable[tuple[int, str]], source: str) -> Iterator[Form]:
    """Yield (line, value, None) for each form at the top level, or for each member of a vector that
    is the whole file. Raise HistoryError with the line for text that is not EDN or not complete,
    and for a map with a key twice."""
    reader = _Reader(lines, source)
    inside = False
    is_first = True
    while reader.at < len(reader.text) or reader.next_line():
        if reader.at == 0 and (found := edn_lines.event(reader.text)) is not None:
            reader.at = len(reader.text)
            is_first = False
            yield reader.line, found, None
            continue
        token = reader.token()
        if token is None:
            break
        if is_first and token == ("open", "["):
            inside, is_first = True, False
            continue
        is_first = False
        if inside and token == ("close", "]"):
            if reader.token() is not None:
                raise reader.refuse("something follows the vector of events")
            return
        line, value = reader.line, reader.value(token)
        if value is not _DISCARD:
            yield line, value, None
    if inside:
        raise reader.refuse("the vector of events is not closed; the file is not complete EDN")
