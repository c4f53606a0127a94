"""A JAAS configuration in one string, as the value of `sasl.jaas.config`: a login module and its
options.

Source: JaasConfig.java; KIP-85. The syntax is Java's: CLASS FLAG KEY=VALUE …; with values in quotes
if they contain more than letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reference_impl.core.configs.keys import BadConfig

FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"'=;]+)|([=;]))""")


@dataclass(frozen=True)
class LoginModule:
    """The class name of a login module, and its options."""

    name: str
    options: Mapping[str, str]


def parsed(key: str, text: str) -> LoginModule:
    """Return the single login module that the text of a JAAS configuration names. Raise BadConfig
    for anything else; its message names the key and leaves the text out, since that is secret."""
    tokens = _tokens(key, text)
    if len(tokens) < 3 or tokens[1].lower() not in FLAGS or tokens[-1] != ";":
        raise _bad(key)
    options, rest = {}, tokens[2:-1]
    for at in range(0, len(rest), 3):
        name, *assigned = rest[at : at + 3]
        if len(assigned) != 2 or assigned[0] != "=" or name in "=;":
            raise _bad(key)
        options[name] = assigned[1]
    return LoginModule(tokens[0], options)


def _tokens(key: str, text: str) -> list[str]:
    found, at, text = [], 0, text.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _bad(key)
        quoted = token[1] if token[1] is not None else token[2]
        found.append(
            re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token[3] or token[4]
        )
        at = token.end()
    return found


def _bad(key: str) -> BadConfig:
    return BadConfig(
        f"{key}: write it as a login module, its flag and options, ended by a semicolon, for"
        ' example org.apache.kafka.common.security.plain.PlainLoginModule required user_NAME="…";'
    )
