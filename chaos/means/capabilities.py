"""Check the root capabilities of this process. Source: capabilities(7), proc_pid_status(5),
CapEff."""

from __future__ import annotations

import re
from pathlib import Path

CAP_NET_ADMIN, CAP_SYS_ADMIN = 1 << 12, 1 << 21


def has(wanted: int) -> bool:
    """Return whether this process has all of these capabilities. wanted: their bit mask."""
    status = Path("/proc/self/status").read_text("utf-8", "replace")
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return effective is not None and int(effective[1], 16) & wanted == wanted
