"""Regular expressions that come from clients, matched by RE2: no pattern can make the broker slow.

Source: KIP-848 (SubscribedTopicRegex, RE2's syntax); TopicRegexResolver.java. A backtracking
matcher, such as Python's `re`, needs exponential time for some patterns. RE2 needs time that is
linear in the length of the text, and for that it refuses backreferences and lookaround.
"""

from __future__ import annotations

from dataclasses import dataclass

import re2

PROGRAM_BYTES_MAX = 256 * 1024
"""The memory that one compiled pattern may take. This permits several thousand characters; RE2
refuses a larger pattern with "pattern too large"."""


class BadRegex(ValueError):
    """A pattern that RE2 refuses; the message is RE2's reason."""


@dataclass(frozen=True, slots=True)
class TopicRegex:
    """A compiled pattern for names of topics."""

    pattern: str
    _compiled: re2._Regexp

    @classmethod
    def compile(cls, pattern: str) -> TopicRegex:
        """Compile a pattern. Raise BadRegex if RE2 refuses it."""
        try:
            return cls(pattern, re2.compile(pattern, _options()))
        except re2.error as refused:
            [reason] = refused.args
            raise BadRegex(reason.decode() if isinstance(reason, bytes) else reason) from None

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches the whole name."""
        return self._compiled.fullmatch(name) is not None


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = PROGRAM_BYTES_MAX
    options.never_capture = True  # with captures, some patterns need seconds and 400 MB
    options.log_errors = False
    return options
