"""What a killed command has left behind, removed by the next: processes, containers, disks.

And what it did to nodes of somebody else's, undone.
"""

from __future__ import annotations

import sys

from chaos import containers, disks, owed, processes
from chaos.netns import namespaces


def remove() -> None:
    """End and remove what dead owners left, and say so. Nothing of a living owner is touched."""
    disks.thaw_leftovers()
    ended = processes.end_leftovers()
    contained = containers.remove_leftovers()  # before the disks, which they hold
    removed = disks.remove_leftovers()
    networks = namespaces.remove_leftovers()
    paid = owed.pay_leftovers()
    if paid.nodes:
        print(
            "put right what an earlier command, which was killed, had left paused or ended:"
            f" the node(s) at {', '.join(paid.nodes)}",
            file=sys.stderr,
        )
    for failure in paid.failures:
        print(
            "could not put right what an earlier command, which was killed, had left paused or"
            f" ended: the node at {failure}; see to it that it runs",
            file=sys.stderr,
        )
    if ended or contained or removed or networks:
        print(
            f"removed what an earlier command, which was killed, had left behind:"
            f" {len(ended)} process(es), {len(removed)} disk(s),"
            f" {networks} network namespace(s),"
            f" {contained} container(s), networks and volumes of Docker",
            file=sys.stderr,
        )
