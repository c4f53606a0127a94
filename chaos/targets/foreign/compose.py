"""Find Docker Compose: a plug-in of Docker's client, or the older separate program."""

from __future__ import annotations

import subprocess
from functools import cache

PLUG_IN = "docker compose"
KINDS = (PLUG_IN, "docker-compose")
ASK_TIMEOUT_S = 60


@cache
def found() -> str | None:
    """Return the command words for Docker Compose, or None if it is not installed."""
    return next((words for words in KINDS if _answers(words)), None)


def _answers(words: str) -> bool:
    try:
        done = subprocess.run(
            [*words.split(), "version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
