"""The harness's side of the shim: each node has one Shim object, made before its first start.

The control block is a file that the node's processes map into memory: a change here takes effect in
them at once, and also in the node's next process.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from chaos.means.caches import cache_directory
from chaos.means.shim.ledger import Medium

LIBRARY = "libtouchstone-shim.so"
WAIT_S = 1.0
"""The seconds to wait for a node to reach a held sync, to return from it, or to make the sync or
write that is to fail."""
POLL_S = 0.001

_BLOCK = struct.Struct("=qqqqii")
"""The layout of the first six fields of `struct control` in shim.c."""
_HELD = struct.Struct("=i")
_HELD_AT, _WAITING_AT = 32, 36
_FAILS = struct.Struct("=i")
_SYNC_FAILS_AT, _WRITE_FAILS_AT, _ONLY_INDEXES_AT = 40, 44, 48


def library() -> Path:
    """Return the path at which `make setup` installs the shim library."""
    return cache_directory() / "lib" / LIBRARY


def why_none() -> str | None:
    """Return why the shim cannot be preloaded into nodes on this machine, or None if it can."""
    if library().is_file():
        return None
    return (
        f"{LIBRARY} is not built; install a C compiler (apt-get install gcc libc6-dev) and run"
        " `make setup`, see `touchstone doctor`"
    )


class Shim:
    """Controls the library that is preloaded into one node: sets its clock, delays,
    holds or fails its syncs, and fails its writes."""

    def __init__(self, home: Path, root: Path) -> None:
        """Prepare the shim: make both directories, a control block without faults and an empty
        ledger, and count all data in `root` as synced. `root` is the node's data; the shim's own
        files lie in `home`, outside of it."""
        home.mkdir(parents=True, exist_ok=True)
        root.mkdir(parents=True, exist_ok=True)  # a directory that does not exist cannot be watched
        self.medium = Medium(root.resolve(), home / "ledger")
        self._control_file = home / "control"
        self._control_file.write_bytes(bytes(mmap.PAGESIZE))
        with self._control_file.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self._offset_ns = self._skew_ppm = self._skew_since_ns = self._sync_delay_us = 0

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment with which the node's process must be started."""
        others = os.environ.get("LD_PRELOAD", "")
        return {
            "LD_PRELOAD": f"{library()} {others}".strip(),
            "TOUCHSTONE_SHIM_CONTROL": str(self._control_file),
            "TOUCHSTONE_SHIM_LEDGER": str(self.medium.ledger),
            "TOUCHSTONE_SHIM_ROOT": str(self.medium.root),
        }

    # --- the clock --------------------------------------------------------------------------------

    def jump(self, by_ms: int) -> None:
        """Move the node's clock forward or, if negative, back at once."""
        self._offset_ns += by_ms * 1_000_000
        self._write()

    def skew(self, ppm: int) -> None:
        """Make the node's clock run faster or, if negative, slower by this many parts per
        million."""
        now_ns = time.time_ns()
        self._offset_ns += self._skewed_ns(now_ns)  # keep the time gained so far
        self._skew_ppm, self._skew_since_ns = ppm, now_ns
        self._write()

    def set_right(self) -> None:
        """Set the node's clock to the right time at once, and let it run at the right rate."""
        self._offset_ns = self._skew_ppm = self._skew_since_ns = 0
        self._write()

    def _skewed_ns(self, now_ns: int) -> int:
        return (now_ns - self._skew_since_ns) * self._skew_ppm // 1_000_000

    # --- syncs ------------------------------------------------------------------------------------

    def slow_down(self, delay_ms: int) -> None:
        """Make every sync take this much longer than without a fault; 0 ends that."""
        self._sync_delay_us = delay_ms * 1000
        self._write()

    def hold_syncs(self) -> bool:
        """Hold every sync until `let_syncs_go`, `release_syncs` or `heal`. Return whether a sync
        has begun within WAIT_S; if not, later ones are held all the same."""
        _HELD.pack_into(self._control, _HELD_AT, 1)
        return self._await(lambda waiting: waiting > 0)

    def _await(self, condition: Callable[[int], bool]) -> bool:
        deadline = time.monotonic() + WAIT_S
        while not condition(_HELD.unpack_from(self._control, _WAITING_AT)[0]):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        return True

    def let_syncs_go(self) -> None:
        """Release held syncs and hold no later ones. Wait until the held syncs have returned,
        WAIT_S at most."""
        _HELD.pack_into(self._control, _HELD_AT, 0)
        self._await(lambda waiting: waiting == 0)

    def release_syncs(self) -> None:
        """Stop holding syncs, and forget the held syncs of processes that have ended."""
        _HELD.pack_into(self._control, _HELD_AT, 0)
        _HELD.pack_into(self._control, _WAITING_AT, 0)

    def fail_sync(self, number: int) -> bool:
        """Make the sync with this number, counted from now (1 is the next), fail. Return whether it
        has failed within WAIT_S; if not, it will not fail later either."""
        return self._fail_once(_SYNC_FAILS_AT, number)

    def fail_write(self, number: int, *, only_indexes: bool) -> bool:
        """Make the write with this number, counted from now (1 is the next), fail; with
        only_indexes, count only writes to indexes. Return whether it has failed within WAIT_S; if
        not, it will not fail later either."""
        _FAILS.pack_into(self._control, _ONLY_INDEXES_AT, only_indexes)
        return self._fail_once(_WRITE_FAILS_AT, number)

    def _fail_once(self, where: int, number: int) -> bool:
        _FAILS.pack_into(self._control, where, number)
        deadline = time.monotonic() + WAIT_S
        while _FAILS.unpack_from(self._control, where)[0] > 0:
            if time.monotonic() > deadline:
                _FAILS.pack_into(self._control, where, 0)
                return False
            time.sleep(POLL_S)
        return True

    def heal(self) -> None:
        """Set the clock right, remove the delay of syncs, release the held syncs and hold no later
        ones, and let no later sync or write fail."""
        self.slow_down(0)
        self.set_right()
        _HELD.pack_into(self._control, _HELD_AT, 0)
        _FAILS.pack_into(self._control, _SYNC_FAILS_AT, 0)
        _FAILS.pack_into(self._control, _WRITE_FAILS_AT, 0)

    def close(self) -> None:
        """Release the control block of a node that has ended."""
        self._control.close()

    def _write(self) -> None:
        # Write the offset together with the skew: the node reads each word separately, and half of
        # a change would show it a wrong clock for a moment.
        held = _HELD.unpack_from(self._control, _HELD_AT)[0]
        waiting = _HELD.unpack_from(self._control, _WAITING_AT)[0]
        _BLOCK.pack_into(
            self._control,
            0,
            self._offset_ns,
            self._skew_ppm,
            self._skew_since_ns,
            self._sync_delay_us,
            held,
            waiting,
        )
