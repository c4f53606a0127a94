"""Parse a JoinGroup of any version, for a group of either protocol."""

from __future__ import annotations

from reference_impl.core.events import Request

MEMBER_ID_REQUIRED_SINCE = 4


def protocols_of(request: Request) -> dict[str, bytes]:
    """Return the protocols of a JoinGroup with their metadata (for consumers, the subscription), in
    its order of preference."""
    return {row.name: bytes(row.metadata) for row in request.body.protocols}


def rebalance_timeout_of(request: Request) -> int:
    """Return the member's rebalance timeout; requests of version 0 have only the session timeout,
    which then counts."""
    wanted: int = request.body.rebalance_timeout_ms
    return wanted if wanted >= 0 else request.body.session_timeout_ms


def needs_member_id(request: Request) -> bool:
    """Return whether the sender must join again with the member id that it is given (KIP-394), so
    that a client that repeats a lost request is not counted twice. A static member is recognised by
    its instance id instead."""
    return (
        not request.body.member_id
        and request.body.group_instance_id is None
        and request.api_version >= MEMBER_ID_REQUIRED_SINCE
    )
