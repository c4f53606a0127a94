"""Cordoned data directories: they keep their partitions and get no new ones (KIP-1066).

Source: KafkaConfig.scala (validateCordonedLogDirs), DynamicLogConfig.scala,
ConfigurationControlManager.java (isCordonedLogDirsInvalid). Each broker tells the controller by its
heartbeats which of its directories are cordoned.
"""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.core.configs.keys import BadConfig, split_list

CORDONED = "cordoned.log.dirs"
EVERY = "*"
"""The value that cordons every directory of a broker."""


def check_cordoned(text: str, directories: Collection[str]) -> None:
    """Raise BadConfig unless this value of CORDONED is `EVERY` alone, or names only directories of
    the broker."""
    named = split_list(text)
    if EVERY in named and len(named) > 1:
        raise BadConfig(f"When {CORDONED} is set to {EVERY}, it must not contain other values")
    missing = [each for each in named if each != EVERY and each not in directories]
    if missing:
        raise BadConfig(
            f"All entries in {CORDONED} must be present in log.dirs or log.dir. Missing entries :"
            f" {','.join(missing)}"
        )


def cordons(text: str, directory: str) -> bool:
    """Return whether this value of CORDONED cordons a directory."""
    named = split_list(text)
    return EVERY in named or directory in named


def adds_directories(before: str, after: str) -> bool:
    """Return whether the new value of CORDONED names a directory, or `EVERY`, that the old one does
    not. A controller cannot know the directories of a broker; so whoever asks it without the broker
    may only remove some."""
    return not set(split_list(after)) <= set(split_list(before))
