"""Colour verdicts on a terminal."""

from __future__ import annotations

import os
import sys

import typer

COLOURS = {"valid": "green", "invalid": "red", "unknown": "yellow"}


def coloured(text: str, validity: str) -> str:
    """Return the text in the colour of the verdict, or unchanged if the verdict has none, standard
    output is not a terminal, or NO_COLOR is set (no-color.org)."""
    colour = COLOURS.get(validity)
    if colour is None or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return typer.style(text, fg=colour, bold=validity == "invalid")
