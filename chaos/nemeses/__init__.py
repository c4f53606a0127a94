"""The nemeses, in one literal table: they decide which faults strike and when, not how a target
performs them."""

from chaos.nemeses.administration import (
    ManyTopics,
    PreferredElection,
    Reassignment,
    UncleanElection,
)
from chaos.nemeses.bad_links import (
    CutShort,
    LossyNetwork,
    NarrowNetwork,
    Resets,
    SlowCloses,
    SlowNetwork,
)
from chaos.nemeses.calm import NoFaults
from chaos.nemeses.clock import JumpClock, SkewClock
from chaos.nemeses.disk import (
    FillDisk,
    PowerLossAll,
    PowerLossMajority,
    PowerLossMinority,
    PowerLossOne,
    PowerLossWhenShut,
    StallDisk,
)
from chaos.nemeses.kill import KillLeader, KillNode, KillThenCalm
from chaos.nemeses.lagging_node import CatchingUp, LaggingNode
from chaos.nemeses.last_replica import LastReplicaStanding
from chaos.nemeses.lone_tail import LoneTail
from chaos.nemeses.media import (
    DeadDisk,
    FailSyncs,
    FailWrites,
    FlipBit,
    LoseNames,
    ReadOnlyDisk,
    ReorderWrites,
    SlowDisks,
    TearWrites,
)
from chaos.nemeses.packets import OneWayPackets, PacketLoss
from chaos.nemeses.partition import CutClientLinks, IsolateLeader, PartitionLeader, PartitionLink
from chaos.nemeses.pause import PauseNode
from chaos.nemeses.restarts import (
    KillAgain,
    KillAll,
    KillController,
    KillGroupCoordinator,
    KillMajority,
    KillMinority,
    KillTransactionCoordinator,
    PauseStorm,
    RollingRestart,
)
from chaos.nemeses.shapes import (
    IsolateController,
    PartitionBridge,
    PartitionControllers,
    PartitionHalves,
    PartitionRing,
)
from chaos.values.protocols import Nemesis

NEMESES: dict[str, Nemesis] = {
    nemesis.name: nemesis
    for nemesis in (
        NoFaults(),
        KillNode(),
        KillLeader(),
        KillThenCalm(),
        KillController(),
        KillGroupCoordinator(),
        KillTransactionCoordinator(),
        KillMinority(),
        KillMajority(),
        KillAll(),
        KillAgain(),
        RollingRestart(),
        PauseNode(),
        PauseStorm(),
        PartitionLeader(),
        PartitionLink(),
        IsolateLeader(),
        CutClientLinks(),
        IsolateController(),
        PartitionHalves(),
        PartitionBridge(),
        PartitionRing(),
        PartitionControllers(),
        SlowNetwork(),
        NarrowNetwork(),
        Resets(),
        SlowCloses(),
        CutShort(),
        LossyNetwork(),
        OneWayPackets(),
        PacketLoss(),
        PreferredElection(),
        UncleanElection(),
        Reassignment(),
        ManyTopics(),
        StallDisk(),
        FillDisk(),
        PowerLossOne(),
        PowerLossMinority(),
        PowerLossMajority(),
        PowerLossAll(),
        PowerLossWhenShut(),
        ReadOnlyDisk(),
        DeadDisk(),
        SlowDisks(),
        FailSyncs(),
        FailWrites(),
        TearWrites(),
        ReorderWrites(),
        LoseNames(),
        FlipBit("active"),
        FlipBit("closed"),
        JumpClock(),
        SkewClock(),
        LastReplicaStanding(),
        LoneTail(),
        LaggingNode(),
        CatchingUp(),
    )
}
