"""Check the names of topics. Source: Topic.java (validate, isInternal, hasCollision)."""

from __future__ import annotations

import re

LENGTH_MAX = 249
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_internal(name: str) -> bool:
    """Return whether Kafka reserves this topic for itself: clients may read it, and the
    coordinators write it."""
    return name in INTERNAL


def problem_with(name: str) -> str | None:
    """Return why a topic may not have this name, or None if it may."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return "Topic name is invalid: '.' or '..' is not allowed"
    if len(name) > LENGTH_MAX:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length"
            f" {LENGTH_MAX}"
        )
    if not _LEGAL.fullmatch(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII"
            " alphanumerics, '.', '_' and '-'"
        )
    return None


def collision_key(name: str) -> str:
    """Return a key that colliding names share: '.' and '_' look alike in the names of metrics."""
    return name.replace(".", "_")
