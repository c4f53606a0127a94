"""What a command that was killed has left behind, removed by the next: processes and disks."""

from __future__ import annotations

import sys

from chaos import disks, processes


def remove() -> None:
    """End and remove what dead owners left, and say so. Nothing of a living owner is touched."""
    disks.thaw_leftovers()
    ended, removed = processes.end_leftovers(), disks.remove_leftovers()
    if ended or removed:
        print(
            f"removed what an earlier command, which was killed, had left behind:"
            f" {len(ended)} process(es), {len(removed)} disk(s)",
            file=sys.stderr,
        )
