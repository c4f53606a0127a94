"""A workload: the operations of each process, the final reads, and the checkers that judge the
run."""

from collections.abc import Mapping

from touchstone.kit import Appends, Sight


class FewAppends(Appends):
    """Two producers append to two partitions, one consumer polls; at the end all is read."""

    name = "few-appends"
    topic = "few"
    topic_config: Mapping[str, str] = {"message.timestamp.type": "LogAppendTime"}
    partitions = 2
    producers = 2
    pollers = 1
    processes = 3
    judged_by = (*Appends.judged_by, "timestamps_rise")
    must_show = (Sight.READS,)
    """A run that shows none of this is UNKNOWN."""
