"""Probes: the proof that each fault takes effect on each backend, and heals. One literal table.

To add one: a function over a Site (frame.py shows how), and a line here.
"""

from chaos.faults import (
    CutClients,
    CutLink,
    DelayAnswers,
    DiskFull,
    DiskStall,
    Isolate,
    Kill,
    Pause,
    PowerLoss,
)
from chaos.probes import disks, networks, processes
from chaos.probes.frame import Probe
from chaos.probes.grounds import APACHE, REFERENCE, REFERENCE_ON_DISKS, THREE_NODES

KILL_MS, LINK_MS, STALL_MS, POWER_MS = 10, 50, 50, 1000
"""What applying a fault may cost on a quiet machine; a node's own start comes on top."""

PROBES: tuple[Probe, ...] = (
    Probe(Kill, REFERENCE, processes.a_killed_node_answers_nobody, KILL_MS),
    Probe(Pause, REFERENCE, processes.a_paused_node_is_silent, KILL_MS),
    Probe(CutClients, REFERENCE, networks.clients_are_refused, LINK_MS),
    Probe(CutClients, REFERENCE, networks.clients_are_left_without_an_answer, LINK_MS),
    Probe(DelayAnswers, REFERENCE, networks.answers_are_late, LINK_MS),
    Probe(CutLink, THREE_NODES, networks.one_node_cannot_dial_another, LINK_MS),
    Probe(Isolate, THREE_NODES, networks.an_isolated_node_is_alone, LINK_MS),
    Probe(DiskStall, REFERENCE_ON_DISKS, disks.a_write_hangs, STALL_MS),
    Probe(DiskFull, REFERENCE_ON_DISKS, disks.there_is_no_room),
    Probe(PowerLoss, REFERENCE_ON_DISKS, disks.what_was_not_synced_is_gone, POWER_MS),
    Probe(Kill, APACHE, processes.a_killed_node_answers_nobody, KILL_MS),
    Probe(Pause, APACHE, processes.a_paused_node_is_silent, KILL_MS),
    Probe(CutClients, APACHE, networks.clients_are_refused, LINK_MS),
)
