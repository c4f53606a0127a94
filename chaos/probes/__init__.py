"""Probes, in one literal table: each proves that a fault takes effect on a backend, and heals.

Link faults are proved on three small nodes that only open and answer connections, with the same
addresses and links as nodes of Apache Kafka. Probes on Apache Kafka itself and probes in containers
run only on request (`nightly`). The time to apply a fault is compared with a bound (kill, pause and
clock 10 ms; links, stalls and other disk faults 50 ms; loss of power 1 s). A busy machine may be
slower, which is shown but is no failure.

To add one: write a function over a Site (frame.py shows how), and add a line here.
"""

from dataclasses import replace

from chaos.probes import administration, clocks, disks, media, networks, processes
from chaos.probes.frame import Probe
from chaos.probes.grounds import (
    APACHE,
    IN_CONTAINERS,
    REFERENCE,
    REFERENCE_ON_DISKS,
    REFERENCE_WITH_SHIM,
    THREE_NAMESPACES,
    THREE_NODES,
)
from chaos.values.faults import (
    AdminStorm,
    BitFlip,
    ClockJump,
    ClockSkew,
    CutClients,
    CutControllers,
    CutLink,
    DelayAnswers,
    DiskDead,
    DiskFull,
    DiskReadOnly,
    DiskStall,
    DropPackets,
    Elect,
    FailedSync,
    FailedWrite,
    Isolate,
    Kill,
    LimitData,
    LosePackets,
    LostNames,
    MoveReplicas,
    NarrowLinks,
    Pause,
    PowerLoss,
    ResetConnections,
    Shutdown,
    SlowClose,
    SlowDisk,
    SlowLinks,
    Split,
    StallConnections,
    TornWrites,
)

KILL_MS, LINK_MS, STALL_MS, POWER_MS = 10, 50, 50, 1000
"""The longest time in milliseconds that applying a fault may take on an idle machine, by kind of
fault; a node's start does not count. A kill is complete when nothing of the node runs any more; its
ports are closed later, when the kernel has freed its memory."""

OUTSIDE: tuple[Probe, ...] = (
    Probe(Kill, REFERENCE, processes.a_killed_node_answers_nobody, KILL_MS),
    Probe(Pause, REFERENCE, processes.a_paused_node_is_silent, KILL_MS),
    Probe(CutClients, REFERENCE, networks.clients_are_refused, LINK_MS),
    Probe(CutClients, REFERENCE, networks.clients_are_left_without_an_answer, LINK_MS),
    Probe(DelayAnswers, REFERENCE, networks.answers_are_late, LINK_MS),
    Probe(Shutdown, REFERENCE, processes.a_node_that_is_shut_down_ends_by_itself),
    Probe(SlowLinks, REFERENCE, networks.what_passes_is_late, LINK_MS),
    Probe(ResetConnections, REFERENCE, networks.connections_are_reset, LINK_MS),
    Probe(SlowClose, REFERENCE, networks.a_close_is_late, LINK_MS),
    Probe(LimitData, REFERENCE, networks.a_connection_ends_in_the_midst_of_an_answer, LINK_MS),
    Probe(StallConnections, REFERENCE, networks.a_share_of_the_connections_stalls, LINK_MS),
    Probe(NarrowLinks, THREE_NODES, networks.many_bytes_take_long, LINK_MS),
    Probe(CutControllers, THREE_NODES, networks.only_controllers_are_cut, LINK_MS),
    Probe(Split, THREE_NODES, networks.a_minority_is_split_off, LINK_MS),
    Probe(Split, THREE_NODES, networks.a_bridge_sees_both_sides, LINK_MS),
    Probe(Split, THREE_NODES, networks.a_ring_of_majorities, LINK_MS),
    Probe(CutLink, THREE_NODES, networks.one_node_cannot_dial_another, LINK_MS),
    Probe(Isolate, THREE_NODES, networks.an_isolated_node_is_alone, LINK_MS),
    Probe(DiskStall, REFERENCE_ON_DISKS, disks.a_write_hangs, STALL_MS),
    Probe(DiskFull, REFERENCE_ON_DISKS, disks.there_is_no_room, STALL_MS),
    Probe(PowerLoss, REFERENCE_ON_DISKS, disks.what_was_not_synced_is_gone, POWER_MS),
    Probe(DiskDead, REFERENCE_ON_DISKS, media.writes_fail_with_a_dead_disk, STALL_MS),
    Probe(DiskReadOnly, REFERENCE_ON_DISKS, media.writes_fail_with_a_read_only_disk, STALL_MS),
    Probe(PowerLoss, REFERENCE_WITH_SHIM, disks.what_was_not_synced_is_gone, POWER_MS),
    Probe(SlowDisk, REFERENCE_WITH_SHIM, media.a_sync_takes_longer, STALL_MS),
    Probe(FailedSync, REFERENCE_WITH_SHIM, media.a_failed_sync_leaves_its_bytes_behind),
    Probe(FailedWrite, REFERENCE_WITH_SHIM, media.a_write_fails_once),
    Probe(
        ClockJump,
        REFERENCE_WITH_SHIM,
        clocks.a_clock_that_was_put_back_refuses_the_present,
        KILL_MS,
    ),
    Probe(
        ClockSkew,
        REFERENCE_WITH_SHIM,
        clocks.a_clock_that_stands_still_refuses_the_present,
        KILL_MS,
    ),
    Probe(TornWrites, REFERENCE_WITH_SHIM, media.some_of_what_was_not_synced_is_gone, POWER_MS),
    Probe(LostNames, REFERENCE_WITH_SHIM, media.what_has_no_name_is_gone, POWER_MS),
    Probe(BitFlip, REFERENCE_WITH_SHIM, media.one_bit_is_another, POWER_MS),
    Probe(CutClients, THREE_NAMESPACES, networks.clients_are_refused, LINK_MS),
    Probe(CutLink, THREE_NAMESPACES, networks.one_node_cannot_dial_another, LINK_MS),
    Probe(Isolate, THREE_NAMESPACES, networks.an_isolated_node_is_alone, LINK_MS),
    Probe(CutControllers, THREE_NAMESPACES, networks.only_controllers_are_cut, LINK_MS),
    Probe(Split, THREE_NAMESPACES, networks.a_ring_of_majorities, LINK_MS),
    Probe(SlowLinks, THREE_NAMESPACES, networks.a_node_is_far_away, LINK_MS),
    Probe(DropPackets, THREE_NAMESPACES, networks.packets_are_dropped_one_way, LINK_MS),
    Probe(LosePackets, THREE_NAMESPACES, networks.some_packets_are_lost, LINK_MS),
    Probe(AdminStorm, REFERENCE, administration.topics_come_and_go),
    Probe(Elect, APACHE, administration.the_preferred_replica_leads_again),
    Probe(MoveReplicas, APACHE, administration.a_replica_leaves_and_comes_back),
    Probe(AdminStorm, APACHE, administration.topics_come_and_go),
    Probe(Kill, APACHE, processes.a_killed_node_answers_nobody, KILL_MS),
    Probe(Pause, APACHE, processes.a_paused_node_is_silent, KILL_MS),
    Probe(CutClients, APACHE, networks.clients_are_refused, LINK_MS),
)

PROBES: tuple[Probe, ...] = (
    *OUTSIDE,
    *(
        replace(probe, ground=IN_CONTAINERS[probe.ground])
        for probe in OUTSIDE
        if probe.ground in IN_CONTAINERS
    ),
)
"""All probes, on every ground where they can be performed. Those for child processes are repeated
for nodes in containers."""
