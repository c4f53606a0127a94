"""The server-side assignors, in one table (group.consumer.assignors; KIP-848)."""

from reference_impl.core.groups.consumer.assignors import range as range_assignor
from reference_impl.core.groups.consumer.assignors import uniform
from reference_impl.core.groups.consumer.assignors.spec import Assignment, Assignor, MemberSpec

ASSIGNORS: dict[str, Assignor] = {
    uniform.NAME: uniform.assign,
    range_assignor.NAME: range_assignor.assign,
}

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "MemberSpec"]
