"""Keep the values of secret settings out of run.json, logs, reports and output.

Sources: Kafka's configuration references (type PASSWORD; also behind a listener's prefix), and
words that are typical of the names of secrets, for the settings of plug-ins. Kafka itself shows
such a value as [hidden] (org.apache.kafka.common.config.types.Password).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HIDDEN = "[hidden]"
PASSWORDS = (
    "sasl.jaas.config",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.client.credentials.client.secret",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
)
LENGTH_MIN = 4
"""The least length of a value that is hidden everywhere. A shorter one is hidden only beside its
setting, since elsewhere in a log it may be something else."""
_WORDS = re.compile(
    r"password|passwd|passphrase|jaas|secret|credential|(?<![a-z])(api|access|private)?"
    r"(token|key)s?(?![a-z])"
)
_PLAIN = re.compile(
    r"[._-](ms|seconds|bytes|count|url|file|path|location|type|class|converter|serializer"
    r"|deserializer|enable|enabled)$"
)
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""")


def is_secret(key: str) -> bool:
    """Return whether the value of this setting must be hidden, judged by the setting's name
    alone."""
    name = key.strip().lower()
    if name.endswith(PASSWORDS):
        return True
    return _WORDS.search(name) is not None and _PLAIN.search(name) is None


def hidden(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with [hidden] in place of the values of secret ones."""
    return {key: HIDDEN if is_secret(key) else value for key, value in settings.items()}


def hidden_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command with the values of secret settings hidden, after KEY= and
    --config=KEY=."""
    return [_hidden_word(word) for word in words]


def _hidden_word(word: str) -> str:
    option, equals, pair = word.partition("=") if word.startswith("--") else ("", "", word)
    key, assigned, _ = pair.partition("=")
    return f"{option}{equals}{key}={HIDDEN}" if assigned and is_secret(key) else word


def secrets_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts that must not appear anywhere, the longest first: values of secret settings
    and their lines, and passwords in the options of login modules. Leave out those shorter than
    LENGTH_MIN."""
    found = {text for key, value in settings.items() if is_secret(key) for text in _within(value)}
    return tuple(sorted((text for text in found if len(text) >= LENGTH_MIN), key=len, reverse=True))


def _within(value: str) -> Iterator[str]:
    yield value
    yield from (line for line in value.splitlines() if line != value)  # a key in PEM
    for name, *quoted in _OPTION.findall(value):
        if name.startswith("user_") or is_secret(name):
            yield "".join(quoted)


def scrubbed(told: Any, secrets: Iterable[str]) -> Any:
    """Return a text, or a JSON value with all texts inside it except keys, with [hidden] in place
    of these secrets. Tuples become lists."""
    if isinstance(told, str):
        for secret in secrets:
            told = told.replace(secret, HIDDEN)
        return told
    if isinstance(told, Mapping):
        return {key: scrubbed(value, secrets) for key, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [scrubbed(value, secrets) for value in told]
    return told


def scrub_files(directory: Path, settings: Mapping[str, str], more: Sequence[str] = ()) -> None:
    """Replace secrets by [hidden] in all files below a directory: the values of secret settings,
    wherever they occur (short ones only beside their setting in .properties files). more: other
    texts to replace. Do nothing if there is neither a secret setting nor such a text."""
    if not any(map(is_secret, settings)) and not more:
        return
    texts = (*secrets_of(settings), *more)
    secrets = [form.encode() for text in texts for form in (text, repr(text)[1:-1])]
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        before = file.read_bytes()
        after = _hidden_lines(before) if file.suffix == ".properties" else before
        for secret in secrets:
            after = after.replace(secret, HIDDEN.encode())
        if after != before:
            file.write_bytes(after)


def _hidden_lines(properties: bytes) -> bytes:
    """Return the bytes of a properties file (one setting per line) with [hidden] in place of the
    values of secret settings."""
    lines = []
    for line in properties.split(b"\n"):
        key, assigned, _ = line.partition(b"=")
        is_hidden = assigned and is_secret(key.decode("latin-1"))
        lines.append(key + b"=" + HIDDEN.encode() if is_hidden else line)
    return b"\n".join(lines)
