"""Find a Java that runs Kafka's brokers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from chaos.means.caches import executable
from chaos.values.protocols import TargetError

OLDEST = 17  # Kafka 4.0, "Java 11 support removed for brokers" (KIP-1013)
PROBE_TIMEOUT_S = 60


def find_java() -> Path:
    """Return the path of the first Java that is new enough (OLDEST), out of JAVA_HOME, PATH and
    set-up, in this order. Raise TargetError if there is none."""
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [
        Path(home) / "bin" / "java" if home else None,
        Path(on_path) if on_path else None,
        executable("java"),
    ]
    seen: list[str] = []
    for candidate in candidates:
        if candidate is None or not candidate.is_file():
            continue
        release = feature_release(candidate)
        if release is not None and release >= OLDEST:
            return candidate
        seen.append(f"{candidate} is {'unusable' if release is None else f'Java {release}'}")
    found = "; ".join(seen) or "none found by JAVA_HOME or on PATH"
    raise TargetError(
        f"Apache Kafka needs Java {OLDEST} or newer ({found}); install a JDK, or run `make setup`"
    )


@lru_cache(None)
def feature_release(java: Path) -> int | None:
    """Return the feature release of a Java: 17 for "17.0.15", 8 for "1.8.0_402". Return None if it
    does not run or tells no version. Each path is tried only once."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None
