"""Faults performed on the nodes of a cluster, each by one function of a cluster and the fault."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from chaos.targets.clusters.cluster import Performers
from chaos.targets.faults import admin_faults, disk_faults, link_faults, process_faults, shim_faults
from chaos.values.faults import Fault, Heal

PERFORMERS: Performers = {
    **admin_faults.PERFORMERS,
    **disk_faults.PERFORMERS,
    **link_faults.PERFORMERS,
    **process_faults.PERFORMERS,
    **shim_faults.PERFORMERS,
}


def performers_of(faults: AbstractSet[type[Fault]]) -> Performers:
    """Return what performs these faults. A cluster heals by itself."""
    return {fault: PERFORMERS[fault] for fault in faults if fault is not Heal}
