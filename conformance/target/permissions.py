"""Find out whether a target limits by permissions what this client may do.

One refusal does not show it: it may be the defect that a case has found. So the target must confirm
it elsewhere: it refuses to describe its settings or its ACLs, too, or has ACLs, or names the
operations on the cluster that it allows this client (KIP-430), which are not all.
"""

from __future__ import annotations

from conformance.brokers import Brokers
from reference_impl.wire import ErrorCode, Struct
from reference_impl.wire.acls import AclOperation, AclPermissionType, PatternType, ResourceType

OF_CLUSTER = sum(
    1 << operation
    for operation in (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    )
)
"""The operations on the cluster, as the bits of cluster_authorized_operations."""


def has_authorizer(target: Brokers, *, is_denied: bool) -> bool:
    """Return whether the target shows that it has an authorizer: it refuses to describe settings or
    ACLs, has ACLs, or does not allow this client every operation on the cluster. is_denied: whether
    it has just refused to describe its settings. A target that says it has none has none."""
    acls = _acls(target)
    if acls is not None and acls.error_code == ErrorCode.SECURITY_DISABLED:
        return False
    if is_denied or (acls is not None and _shows_authorizer(acls)):
        return True
    allowed = _allowed_on_cluster(target)
    return allowed is not None and bool(OF_CLUSTER & ~allowed)


def _shows_authorizer(acls: Struct) -> bool:
    denied = acls.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return denied or bool(acls.resources)


def _allowed_on_cluster(target: Brokers) -> int | None:
    """Return the operations on the cluster that this client may do, as bits, or None if no API
    tells."""
    if "DescribeCluster" in target.advertised:
        answer = target.call("DescribeCluster", include_cluster_authorized_operations=True)
        return int(answer.cluster_authorized_operations)
    first, last = target.advertised.get("Metadata", (0, 0))
    if first <= 10 and last >= 8:
        answer = target.call(
            "Metadata", min(last, 10), topics=[], include_cluster_authorized_operations=True
        )
        return int(answer.cluster_authorized_operations)
    return None


def _acls(target: Brokers) -> Struct | None:
    """Return the answer about all ACLs, or None if the target has no API for them."""
    if "DescribeAcls" not in target.advertised:
        return None
    return target.call(
        "DescribeAcls",
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermissionType.ANY,
    )
