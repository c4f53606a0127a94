"""The nemeses: when and what goes wrong, never how. One literal table."""

from chaos.nemeses.calm import NoFaults
from chaos.nemeses.disk import FillDisk, PowerLossAll, PowerLossOne, StallDisk
from chaos.nemeses.kill import KillLeader, KillNode
from chaos.nemeses.last_replica import LastReplicaStanding
from chaos.nemeses.partition import (
    CutClientLinks,
    IsolateLeader,
    PartitionLeader,
    PartitionLink,
)
from chaos.nemeses.pause import PauseNode
from chaos.protocols import Nemesis

NEMESES: dict[str, Nemesis] = {
    nemesis.name: nemesis
    for nemesis in (
        NoFaults(),
        KillNode(),
        KillLeader(),
        PauseNode(),
        PartitionLeader(),
        PartitionLink(),
        IsolateLeader(),
        CutClientLinks(),
        StallDisk(),
        FillDisk(),
        PowerLossOne(),
        PowerLossAll(),
        LastReplicaStanding(),
    )
}
