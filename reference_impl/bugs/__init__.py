"""Planted bugs, by name: one file each, overriding one decision of a correct broker."""

from __future__ import annotations

from reference_impl.bugs.bug import Bug

BUGS: dict[str, Bug] = {}
