"""EDN, as Jepsen writes its histories: text -> plain Python values, with the line of each form.

Source: github.com/edn-format/edn. Keywords and symbols become strings (without the colon), lists,
vectors and sets become lists, tagged values lose their tag; numbers are int or float (N and M are
dropped, ratios are divided).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from linearizability.history import HistoryError

_TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|;[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<discard>\#_)
    |(?P<open>\#\{|[\[({])
    |(?P<close>[\])}])
    |(?P<tag>\#[A-Za-z][^\s,()\[\]{}"]*)
    |(?P<character>\\(?:[a-z]+|.))
    |(?P<atom>[^\s,()\[\]{}";\\]+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_INTEGER = re.compile(r"[+-]?\d+N?")
_FLOAT = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?")
_RATIO = re.compile(r"([+-]?\d+)/(\d+)")
_WORDS = {"nil": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_DISCARD = object()


class _Reader:
    """The tokens of one text, and where they stand."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.at = 0
        self.line = 1

    def refuse(self, why: str) -> HistoryError:
        return HistoryError(f"{self.source}: line {self.line}: {why}")

    def token(self) -> tuple[str, str] | None:
        """(kind, text) of the next token; None at the end."""
        while self.at < len(self.text):
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                raise self.refuse("a string is not closed; the file is not complete EDN")
            self.at = match.end()
            found = match.group()
            self.line += found.count("\n")
            if match.lastgroup != "skip":
                return str(match.lastgroup), found
        return None

    def value(self, token: tuple[str, str]) -> Any:
        """The value that begins with this token; _DISCARD where it is to be left out."""
        kind, text = token
        if kind == "atom":
            return _atom(text)
        if kind == "string":
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.S)
        if kind == "open":
            return self.collection(text)
        if kind == "character":
            return text[1:]
        if kind == "close":
            raise self.refuse(f"{text!r} closes nothing; this is not EDN")
        following = self.token()
        while following is not None:  # a tag, or #_: what follows belongs to it
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
        self.line = began
        raise self.refuse(f"{opening!r} is not closed; the file is not complete EDN")

    def mapping(self, found: list[Any]) -> dict[Any, Any]:
        if len(found) % 2:
            raise self.refuse("a map has a key without a value")
        try:
            return dict(zip(found[::2], found[1::2], strict=True))
        except TypeError as error:
            raise self.refuse("a key of a map is itself a collection") from error


def _atom(text: str) -> Any:
    if text[0] == ":":
        return text[1:]
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _FLOAT.fullmatch(text):
        return float(text.rstrip("M"))
    if (ratio := _RATIO.fullmatch(text)) and int(ratio[2]):
        return int(ratio[1]) / int(ratio[2])
    return text


def forms(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """(line, value) of each form at the top; the members of a vector that is the whole file.

    Raises HistoryError with the line of what is no EDN, or not complete.
    """
    reader = _Reader(text, source)
    first = reader.token()
    inside = first == ("open", "[")
    token = reader.token() if inside else first
    while token is not None:
        if inside and token == ("close", "]"):
            if reader.token() is not None:
                raise reader.refuse("something follows the vector of events")
            return
        line = reader.line
        value = reader.value(token)
        if value is not _DISCARD:
            yield line, value
        token = reader.token()
    if inside:
        raise reader.refuse("the vector of events is not closed; the file is not complete EDN")
