"""A node that syncs what it writes and says so at once, and what of that a fault has taken.

Four threads, of one process or two, append sectors to files of their own, sync them, and
acknowledge. A fault may take what was not acknowledged, and nothing else: a lie is a file that has
less than its writer had said. One sync in fifteen lies where the power goes before the process.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import PERFORMERS
from chaos.values.faults import Fault

SECTOR_BYTES = 512
WRITERS = 4
WAIT_S = 180.0
BEGINNING_S = 0.2
_ACKNOWLEDGEMENT = struct.Struct(">II")
PROGRAM = """
import os, struct, sys, threading

data, told, processes = sys.argv[1:]
acknowledgements = os.open(told, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)

def write(number):
    file = os.open(f"{data}/{number}", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    directory = os.open(data, os.O_RDONLY)
    try:
        os.fsync(directory)
        written = 0
        while True:
            os.write(file, struct.pack(">Q", written + 1) * 64)
            os.fsync(file)
            written += 1
            os.write(acknowledgements, struct.pack(">II", number, written))
    except OSError:
        pass

mine = range(4)
if processes == "2":
    mine = range(2) if os.fork() else range(2, 4)
threads = [threading.Thread(target=write, args=[number]) for number in mine]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def command(data: Path, told: Path, processes: int = 2) -> list[str]:
    """Return the node's arguments for Python."""
    return ["-c", PROGRAM, str(data), str(told), str(processes)]


def lies(
    data: Path, told: Path, rounds: int, start: Callable[[], None], strike: Callable[[], None]
) -> Iterator[str]:
    """Start the node, strike it, and compare its files with its acknowledgements, `rounds` times.
    Yield a sentence for each acknowledged sector that was lost."""
    for number in range(rounds):
        told.write_bytes(b"")
        start()
        _wait_until_all_write(told)
        time.sleep(BEGINNING_S * ((number * 7) % 10) / 10)  # at another moment each time
        strike()
        for writer, acknowledged in enumerate(_acknowledged(told)):
            file = data / str(writer)
            there = _whole_sectors(file)
            if there < acknowledged:
                yield f"round {number}: {acknowledged} acknowledged, {there} there"
            file.unlink(missing_ok=True)


def _wait_until_all_write(told: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while 0 in _acknowledged(told):
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: every thread has written"
        time.sleep(0.01)


def _acknowledged(told: Path) -> list[int]:
    """Return the number of sectors that each writer has acknowledged."""
    found = [0] * WRITERS
    text = told.read_bytes()
    for writer, written in _ACKNOWLEDGEMENT.iter_unpack(text[: len(text) // 8 * 8]):
        found[writer] = max(found[writer], written)
    return found


def _whole_sectors(file: Path) -> int:
    """Return the number of intact sectors before the first damaged one."""
    content = file.read_bytes() if file.exists() else b""
    sectors = 0
    while content[sectors * SECTOR_BYTES :][:SECTOR_BYTES] == struct.pack(">Q", sectors + 1) * 64:
        sectors += 1
    return sectors


def strike(node: LocalNode, fault: Fault) -> None:
    """Perform a fault on a node that has no cluster. Fail unless it struck."""
    cluster = LocalCluster("alone", "1", "", [node], PERFORMERS)
    assert cluster.perform(fault).nodes == (1,)
