"""The form of a configuration key: its type, default and bounds, as Kafka declares them.

Source: ConfigDef.java (types, validators); the tables are `topic.py` (LogConfig.java) and
`broker.py` (AbstractKafkaConfig.java).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


class ConfigType(IntEnum):
    """The types of configuration keys, as DescribeConfigs numbers them
    (DescribeConfigsResponse.ConfigType)."""

    UNKNOWN = 0
    """The type of a key that Kafka does not know, which may be a secret as well."""
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9
    """A secret: DescribeConfigs answers null for its value (KIP-226)."""


SECRETS = (ConfigType.PASSWORD, ConfigType.UNKNOWN)
_TEXTS = (ConfigType.STRING, ConfigType.CLASS, *SECRETS)

_RANGES = {
    ConfigType.SHORT: (-(2**15), 2**15 - 1),
    ConfigType.INT: (-(2**31), INT_MAX),
    ConfigType.LONG: (-(2**63), LONG_MAX),
}


class BadConfig(ValueError):
    """A setting or option is unknown, wrong, or contradicts another; the message is one sentence
    for a person."""


@dataclass(frozen=True)
class ConfigKey:
    """One key; `default` is the text a user would have written."""

    name: str
    type: ConfigType
    default: str | None
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] | None = None
    """For a LIST the allowed items, for a text the allowed values, for a number the values that are
    allowed besides those within the bounds."""
    synonym: str | None = None
    """For a topic's key the broker's key that gives its default (KIP-226)."""
    item_form: str | None = None
    """For a LIST that may also be *: the form of each item, as a regular expression."""

    def check(self, text: str) -> None:
        """Raise BadConfig unless `text` is a value of this key."""
        if self.type is ConfigType.BOOLEAN:
            if text.strip().lower() not in ("true", "false"):
                raise self._bad(text, "it must be true or false")
        elif self.type is ConfigType.LIST:
            self._check_list(text)
        elif self.type in _TEXTS:
            if self.one_of is not None and text not in self.one_of:
                raise self._bad(text, f"it must be one of {', '.join(self.one_of)}")
        else:
            self._check_number(text)

    def _check_list(self, text: str) -> None:
        if self.item_form is not None and text.strip() != "*":
            for item in split_list(text):
                if not re.fullmatch(self.item_form, item):
                    raise self._bad(text, f"it must be * or a list of items like {self.item_form}")
        if self.one_of is not None and text.strip():
            for item in text.split(","):
                if item.strip() not in self.one_of:
                    raise self._bad(text, f"it must be a list of {' and '.join(self.one_of)}")

    def _check_number(self, text: str) -> None:
        number: float
        try:
            if "_" in text:
                raise ValueError("Python reads 1_000, Kafka does not")
            number = float(text) if self.type is ConfigType.DOUBLE else int(text.strip())
        except ValueError:
            raise self._bad(text, f"it must be a number of type {self.type.name}") from None
        low, high = _RANGES.get(self.type, (None, None))
        if low is not None and high is not None and not low <= number <= high:
            raise self._bad(text, f"it must be a number of type {self.type.name}")
        if self.one_of is not None and text.strip() in self.one_of:
            return
        if self.at_least is not None and number < self.at_least:
            raise self._bad(text, f"it must be at least {self.at_least}")
        if self.at_most is not None and number > self.at_most:
            raise self._bad(text, f"it must be at most {self.at_most}")

    def _bad(self, text: str, why: str) -> BadConfig:
        shown = "[hidden]" if self.type is ConfigType.PASSWORD else text
        return BadConfig(f"Invalid value {shown} for configuration {self.name}: {why}")


def split_list(text: str) -> list[str]:
    """Return the items of a LIST value, without blanks around them; empty items are left out."""
    return [item.strip() for item in text.split(",") if item.strip()]


def table(*keys: ConfigKey) -> dict[str, ConfigKey]:
    """Return keys by name, in the order of their names as Kafka lists them."""
    return {key.name: key for key in sorted(keys, key=lambda key: key.name)}


def check_all(known: Mapping[str, ConfigKey], given: Mapping[str, str], what: str) -> None:
    """Raise BadConfig for the first key of `given` that is unknown or has a bad value. what: the
    kind of resource, for the message."""
    for name, text in given.items():
        key = known.get(name)
        if key is None:
            near = get_close_matches(name, known, n=1, cutoff=0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadConfig(f"Unknown {what} config name: {name}{hint}")
        key.check(text)
