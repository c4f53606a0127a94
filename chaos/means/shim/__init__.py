"""The shim, a library preloaded into nodes: it lets us set the clock and hold syncs, and writes a
ledger of what was synced. It needs no root. shim.c is the part that runs in the node."""

from chaos.means.shim.control import Shim, why_none

__all__ = ["Shim", "why_none"]
