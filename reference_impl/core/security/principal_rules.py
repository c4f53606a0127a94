"""The name of a client that shows a certificate: its subject, rewritten by rules.

Source: KIP-371; SslPrincipalMapper.java. The rules of `ssl.principal.mapping.rules`, separated by
commas, are tried in their order; the first whose pattern matches the whole subject counts:

    RULE:^CN=([a-z]+),OU=brokers$/$1/U      pattern, replacement, and L or U for the case of letters
    DEFAULT                                 the subject as it is, in the form of RFC 2253
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reference_impl.core.configs.keys import BadConfig

RULES = "ssl.principal.mapping.rules"
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/"
    r"(?P<case>[LU]?))\s*(?:,|$)"
)
_REFERENCE = re.compile(r"\\(.)|\$(\d)")


@dataclass(frozen=True)
class Rule:
    """One rule. A subject that its pattern does not match is left to the next rule."""

    pattern: re.Pattern[str] | None = None
    """None for DEFAULT, which matches every subject."""
    replacement: str = ""
    case: str = ""

    def applied(self, subject: str) -> str | None:
        """Return the name that the rule makes of a subject, or None if it does not match."""
        if self.pattern is None:
            return subject
        match = self.pattern.fullmatch(subject)
        if match is None:
            return None
        name = _REFERENCE.sub(lambda found: _meant(found, match), self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


def _meant(found: re.Match[str], match: re.Match[str]) -> str:
    """Return the text for an escaped character or a $1 in a replacement. As in Kafka, a number
    without such a group stands for itself."""
    if found[1] is not None:
        return found[1]
    number = int(found[2])
    if number > len(match.groups()):
        return found[0]
    return match[number] or ""


def rules_of(text: str) -> tuple[Rule, ...]:
    """Return the rules of a setting. Raise BadConfig for a text that is not a list of rules, or a
    pattern that cannot be read."""
    found, at, text = [], 0, text.strip()
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            raise BadConfig(
                f"{RULES}={text}: write each rule as DEFAULT or RULE:pattern/replacement/, with L"
                " or U behind it for lower or upper case"
            )
        found.append(_rule(match))
        at = match.end()
    return tuple(found) or (Rule(),)


def _rule(match: re.Match[str]) -> Rule:
    if match["default"]:
        return Rule()
    try:
        pattern = re.compile(match["pattern"])
    except re.error as error:
        raise BadConfig(
            f"{RULES}: the pattern {match['pattern']} cannot be read: {error}"
        ) from None
    return Rule(pattern, match["replacement"], match["case"])


def name_of(rules: tuple[Rule, ...], subject: str) -> str | None:
    """Return the name that the first matching rule makes of a certificate's subject, or None if
    none matches."""
    names = (rule.applied(subject) for rule in rules)
    return next((name for name in names if name is not None), None)
