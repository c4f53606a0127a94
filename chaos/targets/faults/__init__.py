"""Perform faults on the nodes of a cluster: one function per fault, called with the cluster and the
fault."""

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
    """Return fault type -> the function that performs it, for these faults. Heal is not among them;
    the cluster performs it itself."""
    return {fault: PERFORMERS[fault] for fault in faults if fault is not Heal}
