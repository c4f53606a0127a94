"""`touchstone bugs`: the planted bugs of the reference, from their own files."""

from __future__ import annotations

import inspect

from reference_impl.bugs import BUGS


def render_bugs() -> str:
    """One paragraph per bug: name, then what it breaks and what must catch it."""
    parts = []
    for name, bug in BUGS.items():
        text = inspect.getdoc(bug.rules) or ""
        parts.append(f"{name}\n" + "\n".join(f"    {line}" for line in text.splitlines()))
    return "\n\n".join(parts)
