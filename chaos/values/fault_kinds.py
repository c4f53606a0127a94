"""The table of all faults, and the kinds of faults that need the same means."""

from __future__ import annotations

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
    Fault,
    Heal,
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

FAULTS: dict[str, type[Fault]] = {
    fault.__name__: fault
    for fault in (
        Kill,
        Pause,
        Shutdown,
        CutLink,
        Isolate,
        CutClients,
        CutControllers,
        Split,
        DelayAnswers,
        SlowLinks,
        NarrowLinks,
        ResetConnections,
        SlowClose,
        LimitData,
        StallConnections,
        DropPackets,
        LosePackets,
        Elect,
        MoveReplicas,
        AdminStorm,
        DiskStall,
        DiskFull,
        DiskReadOnly,
        DiskDead,
        PowerLoss,
        SlowDisk,
        FailedSync,
        FailedWrite,
        TornWrites,
        LostNames,
        BitFlip,
        ClockJump,
        ClockSkew,
        Heal,
    )
}

PROCESS_FAULTS: frozenset[type[Fault]] = frozenset({Kill, Pause, Shutdown})

ADMIN_FAULTS: frozenset[type[Fault]] = frozenset({Elect, MoveReplicas, AdminStorm})
"""The faults that an administrator causes."""

PACKET_FAULTS: frozenset[type[Fault]] = frozenset({DropPackets, LosePackets})
"""The faults that need nodes with their own network namespaces (chaos/means/netns)."""

TOXIC_FAULTS: frozenset[type[Fault]] = frozenset(
    {SlowLinks, NarrowLinks, ResetConnections, SlowClose, LimitData, StallConnections}
)
"""The faults that make links worse without cutting them."""

CUT_FAULTS: frozenset[type[Fault]] = frozenset(
    {CutLink, Isolate, CutClients, CutControllers, Split}
)

LINK_FAULTS: frozenset[type[Fault]] = CUT_FAULTS | TOXIC_FAULTS | {DelayAnswers}
"""The faults that need a target started with `proxied`; CUT_FAULTS and SlowLinks also work with
network namespaces."""

DISK_FAULTS: frozenset[type[Fault]] = frozenset(
    {DiskStall, DiskFull, DiskReadOnly, DiskDead, PowerLoss}
)
"""The faults that need nodes with disks of their own (chaos/means/disks.py). PowerLoss also works
with the shim."""

SHIM_FAULTS: frozenset[type[Fault]] = frozenset(
    {SlowDisk, FailedSync, FailedWrite, TornWrites, LostNames, ClockJump, ClockSkew}
)
"""The faults that need nodes with the preloaded shim (chaos/means/shim)."""

POWER_FAULTS: frozenset[type[Fault]] = frozenset({PowerLoss, FailedSync, TornWrites, LostNames})
"""The faults that lose acknowledged but unflushed records, which Kafka does not promise to keep."""
