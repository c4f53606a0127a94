"""Call Docker Compose as a plug-in of Docker's client, or as the older program."""

from __future__ import annotations

import subprocess
from functools import cache

PLUG_IN = "docker compose"
KINDS = (PLUG_IN, "docker-compose")
ASK_TIMEOUT_S = 60


@cache
def found() -> str | None:
    """Return the words of the command, or None if there is none."""
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
