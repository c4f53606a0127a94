"""Describe what killed commands left behind, for `touchstone doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from ci.doctor import Component

MEND_LEFTOVERS = "touchstone doctor --mend"


def left_behind(left: Sequence[str]) -> list[Component]:
    """Return one row for what killed commands left behind, or no row if there is nothing."""
    if not left:
        return []
    lost = "the ports, memory, disks and nodes that they hold"
    return [Component("leftovers", False, "; ".join(left), lost, MEND_LEFTOVERS)]


def render_left_behind(left: Sequence[str], mended: bool = False) -> str:
    """Return text that names each thing that killed commands left behind, and the command that
    removes it. Return "" if nothing was left. mended: that command has run just now, and these are
    the things that it could not remove; the text then says what to do first."""
    if not left:
        return ""
    advice = (
        "could not be removed; end the process that uses it, and run the command again"
        if mended
        else f"to remove it: {MEND_LEFTOVERS} (as the user who ran the command; every command that"
        " starts a target does so, too)"
    )
    lines = ("", "left behind by a command that was killed:", *(f"  {one}" for one in left), advice)
    return "\n".join(lines) + "\n"
