"""List the mounted file systems, as the kernel reports them. Source: proc_pid_mounts(5),
getmntent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TABLE = Path("/proc/self/mounts")


def mount_points() -> Iterator[str]:
    """Yield all mount points, in the order in which they were mounted."""
    for line in TABLE.read_text("utf-8", "surrogateescape").splitlines():
        yield _plain(line.split(" ")[1])


def _plain(field: str) -> str:
    r"""Decode a path from the table of mounts. In it \040, \011, \012 and \134 stand for blank,
    tab, line feed and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
