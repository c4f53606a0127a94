"""The workloads, in one literal table. Each determines the operations of its processes, and the
final reads."""

from chaos.values.protocols import Workload
from chaos.workloads.appends import Appends
from chaos.workloads.appends_mixed import AppendsMixed
from chaos.workloads.appends_weaker import AppendsAcks0, AppendsAcks1, AppendsNotIdempotent
from chaos.workloads.compaction import Compaction
from chaos.workloads.compaction_transactions import CompactionInTransactions
from chaos.workloads.delete_records import DeletingRecords
from chaos.workloads.fan_out import FanOut
from chaos.workloads.followers import ReadFromFollower
from chaos.workloads.groups import (
    ClassicGroups,
    ConsumerGroupPositions,
    ConsumerGroups,
    CooperativeGroups,
    GroupPositions,
    StaticConsumerGroups,
    StaticGroupPositions,
    StaticGroups,
)
from chaos.workloads.groups_growing import GrowingGroups
from chaos.workloads.offsets import Offsets
from chaos.workloads.offsets_transactions import OffsetsInTransactions
from chaos.workloads.recreate import Recreated
from chaos.workloads.register import Register
from chaos.workloads.retention import Retention, RetentionBySize
from chaos.workloads.seeks import Seeks
from chaos.workloads.sequences import Sequences
from chaos.workloads.sessions import Sessions
from chaos.workloads.transactions import Transactions
from chaos.workloads.transform import Transform
from chaos.workloads.zombies import Zombies

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Appends(),
        Transactions(),
        ClassicGroups(),
        CooperativeGroups(),
        ConsumerGroups(),
        StaticGroups(),
        StaticConsumerGroups(),
        GrowingGroups(),
        GroupPositions(),
        ConsumerGroupPositions(),
        StaticGroupPositions(),
        Transform(),
        FanOut(),
        AppendsMixed(),
        AppendsAcks1(),
        AppendsAcks0(),
        AppendsNotIdempotent(),
        Compaction(),
        CompactionInTransactions(),
        Register(),
        Retention(),
        RetentionBySize(),
        DeletingRecords(),
        Recreated(),
        Seeks(),
        Sequences(),
        Sessions(),
        Zombies(),
        Offsets(),
        OffsetsInTransactions(),
        ReadFromFollower(),
    )
}
