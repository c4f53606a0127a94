"""The library that nodes are preloaded with: a clock that can be set, syncs that can be held, and a
ledger of what was synced. No root is needed. See shim.c for what the node's side does."""

from chaos.means.shim.control import Shim, why_none

__all__ = ["Shim", "why_none"]
