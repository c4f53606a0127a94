r"""Regular expressions over topic names, as RE2 has them: no pattern can make the broker slow.

Source: KIP-848 (SubscribedTopicRegex), RE2's syntax; TopicRegexResolver.java. A backtracking
matcher, such as Python's `re`, needs exponential time for some patterns, and here the pattern comes
from a client. So this matcher never tries alternatives one after another: it computes, for all
start positions at once, where a part of the pattern can end. A set of positions is the bits of an
integer, so that a step costs the same for one position and for all. Backreferences and lookaround
cannot be matched in this way; RE2 and this file refuse them.

Understood: literals, `.`, `[classes]` with ranges, negation and [:alpha:], \d \w \s \b and their
opposites, escapes and \Q..\E, groups (capturing, named, not capturing, with the flag i),
alternation, * + ? {n,m} and their lazy forms, ^ $ \A \z. Not understood, unlike in RE2: \p{..}.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass

Positions = int
"""A set of positions in the text. Bit n: before character n; the highest bit: at the end."""

REPEAT_MAX, DEPTH_MAX = 1000, 100
_CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": "\t\n\f\r "}
_NAMED = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": "\t ",
    "digit": string.digits,
    "lower": string.ascii_lowercase,
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "word": _CLASSES["w"],
    "xdigit": string.hexdigits,
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


class BadRegex(ValueError):
    """A pattern that RE2 would refuse; the message says why, as RE2 does."""


class Text:
    """A name to match, and the set of positions of each character."""

    def __init__(self, text: str) -> None:
        self.end: Positions = 1 << len(text)
        self.letters: dict[str, Positions] = {}
        for position, letter in enumerate(text):
            self.letters[letter] = self.letters.get(letter, 0) | 1 << position
        self.repeated: dict[tuple[Matcher, Positions], Positions] = {}
        """The results of repetitions, kept because nested repetitions ask for the same positions
        many times."""
        words = sum(at for letter, at in self.letters.items() if letter in _CLASSES["w"])
        self.word_boundaries: Positions = words ^ (words << 1)


Matcher = Callable[[Text, Positions], Positions]
"""A function from a text and the positions where a part of the pattern may begin to those where it
may end."""


@dataclass(frozen=True, slots=True)
class TopicRegex:
    """A compiled pattern."""

    pattern: str
    _matcher: Matcher

    @classmethod
    def compile(cls, pattern: str) -> TopicRegex:
        """Compile a pattern, or raise BadRegex."""
        parser = _Parser(pattern)
        matcher = parser.alternatives()
        if parser.position < len(pattern):
            raise BadRegex(f"unexpected ): `{pattern}`")
        return cls(pattern, matcher)

    def matches(self, topic: str) -> bool:
        """Return whether the pattern matches the whole name."""
        text = Text(topic)
        return bool(self._matcher(text, 1) & text.end)


def _one_of(accepts: Callable[[str], bool]) -> Matcher:
    def run(text: Text, starts: Positions) -> Positions:
        if not starts:
            return 0
        found = 0
        for letter, at in text.letters.items():
            if at & starts and accepts(letter):
                found |= at
        return (found & starts) << 1

    return run


def _letter(wanted: str) -> Matcher:
    return lambda text, starts: (text.letters.get(wanted, 0) & starts) << 1


def _where(holds: Callable[[Text], Positions]) -> Matcher:
    return lambda text, starts: holds(text) & starts


def _sequence(parts: list[Matcher]) -> Matcher:
    def run(text: Text, starts: Positions) -> Positions:
        for part in parts:
            if not starts:
                break
            starts = part(text, starts)
        return starts

    return run


def _either(options: list[Matcher]) -> Matcher:
    if len(options) == 1:
        return options[0]

    def run(text: Text, starts: Positions) -> Positions:
        found = 0
        for option in options:
            found |= option(text, starts)
        return found

    return run


def _repeat(part: Matcher, least: int, most: int | None) -> Matcher:
    def run(text: Text, starts: Positions) -> Positions:
        key = part, starts
        if key not in text.repeated:
            text.repeated[key] = reach(text, starts)
        return text.repeated[key]

    def reach(text: Text, starts: Positions) -> Positions:
        for _ in range(least):
            starts = part(text, starts)
        found, fresh, times = starts, starts, least
        while fresh and (most is None or times < most):
            fresh = part(text, fresh) & ~found  # what was reached before leads nowhere new
            found |= fresh
            times += 1
        return found

    return run


class _Parser:
    """A recursive-descent parser: alternatives, then sequences, then repeated atoms."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.position = pattern, 0
        self.ignores_case = False
        self.size = 1
        """The number of copies of the innermost atom that result from the enclosing {n,m}."""
        self.depth = 0

    def peek(self, ahead: str = "") -> bool:
        rest = self.pattern.startswith(ahead, self.position)
        return self.position < len(self.pattern) and rest

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.position += len(text)
            return True
        return False

    def next(self, what: str) -> str:
        if self.position >= len(self.pattern):
            raise BadRegex(f"missing {what}: `{self.pattern}`")
        self.position += 1
        return self.pattern[self.position - 1]

    def alternatives(self) -> Matcher:
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        return _either(options)

    def sequence(self) -> Matcher:
        parts: list[Matcher] = []
        while self.peek() and not self.peek("|") and not self.peek(")"):
            parts.append(self.repeated())
        return _sequence(parts)

    def repeated(self) -> Matcher:
        outer, self.size = self.size, 1
        part = self.atom()
        bounds = self.bounds()
        if bounds is not None:
            least, most = bounds
            self.size *= max(least, most or 1, 1)
            if self.size > REPEAT_MAX:
                raise BadRegex(f"invalid repeat count: `{self.pattern}`")
            self.take("?")  # lazy: the same names match
            part = _repeat(part, least, most)
            before = self.position
            if self.bounds() is not None:
                again = self.pattern[before : self.position]
                raise BadRegex(f"invalid nested repetition operator: `{again}`")
        self.size = max(outer, self.size)
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        if not self.peek("{"):
            return None
        inside, closed, _ = self.pattern[self.position + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not _is_number(low) or (high and not _is_number(high)):
            return None  # RE2 takes such a brace literally
        self.position += len(inside) + 2
        least = int(low)
        most = int(high) if high else (None if comma else least)
        if max(least, most or 0) > REPEAT_MAX or (most is not None and most < least):
            raise BadRegex(f"invalid repeat count: `{{{inside}}}`")
        return least, most

    def atom(self) -> Matcher:
        sign = self.next("expression")
        match sign:
            case "(":
                return self.group()
            case "[":
                return self.bracket()
            case ".":
                return _one_of(lambda letter: letter != "\n")
            case "^":
                return _where(lambda _: 1)
            case "$":
                return _where(lambda text: text.end)
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                raise BadRegex(f"missing argument to repetition operator: `{sign}`")
        return self.literal(sign)

    def literal(self, letters: str) -> Matcher:
        def one(letter: str) -> Matcher:
            if self.ignores_case:
                both = letter.lower() + letter.upper()
                return _one_of(lambda given: given in both)
            return _letter(letter)

        return _sequence([one(letter) for letter in letters])

    def group(self) -> Matcher:
        outer = self.ignores_case
        if self.take("?") and not self.named_group() and not self.flags():
            return _sequence([])  # (?i) counts until the group around it ends
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise BadRegex(f"expression nests too deeply: `{self.pattern}`")
        inside = self.alternatives()
        self.depth -= 1
        if not self.take(")"):
            raise BadRegex(f"missing closing ): `{self.pattern}`")
        self.ignores_case = outer
        return inside

    def named_group(self) -> bool:
        begin = self.position
        if not (self.take("P<") or self.take("<")):
            return False
        name, closed, _ = self.pattern[self.position :].partition(">")
        if not closed or not name.isidentifier():
            raise BadRegex(f"invalid named capture: `(?{self.pattern[begin:]}`")
        self.position += len(name) + 1
        return True

    def flags(self) -> bool:
        """Parse the flags of a group. Return whether more of the group follows them."""
        begin, on = self.position, True
        while (sign := self.next("closing )")) not in ":)":
            if sign not in "ims-":
                raise BadRegex(f"invalid or unsupported Perl syntax: `(?{sign}`")
            if sign == "-":
                on = False
            elif sign == "i":
                self.ignores_case = on
        if sign == ")" and self.position == begin + 1:
            raise BadRegex("missing argument to repetition operator: `?`")
        return sign == ":"

    def escape(self) -> Matcher:
        letter = self.next("escape")
        if letter == "Q":
            quoted, _, _ = self.pattern[self.position :].partition("\\E")
            self.position = min(self.position + len(quoted) + 2, len(self.pattern))
            return self.literal(quoted)
        if letter.lower() in _CLASSES:
            inside = _CLASSES[letter.lower()]
            wanted = letter.islower()
            return _one_of(lambda given: (given in inside) is wanted)
        match letter:
            case "A":
                return _where(lambda _: 1)
            case "z":
                return _where(lambda text: text.end)
            case "b":
                return _where(lambda text: text.word_boundaries)
            case "B":
                return _where(lambda text: ~text.word_boundaries)
        return self.literal(self.escaped(letter))

    def escaped(self, letter: str) -> str:
        """Return the character that an escape stands for."""
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in string.ascii_letters + string.digits:
            raise BadRegex(f"invalid escape sequence: `\\{letter}`")
        return letter

    def bracket(self) -> Matcher:
        begin = self.position - 1
        negated = self.take("^")
        letters: set[str] = set()
        excluded: list[str] = []
        first = True
        while first or not self.peek("]"):
            if self.position >= len(self.pattern):
                raise BadRegex(f"missing closing ]: `{self.pattern[begin:]}`")
            first = False
            self.bracket_item(letters, excluded)
        self.position += 1
        fold = self.ignores_case

        def accepts(given: str) -> bool:
            forms = {given, given.lower(), given.upper()} if fold else {given}
            found = bool(forms & letters) or any(given not in inside for inside in excluded)
            return found is not negated

        return _one_of(accepts)

    def bracket_item(self, letters: set[str], excluded: list[str]) -> None:
        """Parse one item inside [brackets]: a class, a letter or a range. Add its letters to
        `letters`, or to `excluded` a class that is negated."""
        if self.peek("[:"):
            name, closed, _ = self.pattern[self.position + 2 :].partition(":]")
            inside = _NAMED.get(name.removeprefix("^"))
            if not closed or inside is None:
                raise BadRegex(f"invalid character class range: `[:{name}:]`")
            self.position += len(name) + 4
            if name.startswith("^"):
                excluded.append(inside)
            else:
                letters.update(inside)
            return
        if self.peek("\\") and self.pattern[self.position + 1 : self.position + 2].lower() in {
            *_CLASSES
        }:
            kind = self.pattern[self.position + 1]
            self.position += 2
            if kind.islower():
                letters.update(_CLASSES[kind])
            else:
                excluded.append(_CLASSES[kind.lower()])
            return
        begin = self.position
        low = high = self.bracket_letter()
        if self.peek("-") and not self.pattern.startswith("-]", self.position):
            self.position += 1
            high = self.bracket_letter()
        if high < low:
            raise BadRegex(
                f"invalid character class range: `{self.pattern[begin : self.position]}`"
            )
        letters.update(chr(code) for code in range(ord(low), ord(high) + 1))

    def bracket_letter(self) -> str:
        letter = self.next("closing ]")
        return self.escaped(self.next("escape")) if letter == "\\" else letter


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
