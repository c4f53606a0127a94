"""How many share sessions a broker keeps (KIP-932)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.share_groups.test_records import topic_with
from conformance.clients.share_members import ShareMember
from conformance.target.variants import FEW_SHARE_SESSIONS
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SESSIONS_MAX = int(FEW_SHARE_SESSIONS["group.share.max.share.sessions"])


@case(
    "SHARE-14",
    "ShareFetch",
    spec="KIP-932, group.share.max.share.sessions; class ShareSessionCache",
    priority="P2",
    config=FEW_SHARE_SESSIONS,
)
def test_a_share_session_beyond_the_limit_is_refused(wire: Wire) -> None:
    """Where the broker keeps as many share sessions as it may, a new one gets
    SHARE_SESSION_LIMIT_REACHED (133); once one is closed the next is accepted."""
    topic = topic_with(wire, (b"a",))
    members = [ShareMember.of(wire, topic) for _ in range(SESSIONS_MAX + 1)]
    errors = [member.try_to_fetch().error_code for member in members]
    limit = ErrorCode.SHARE_SESSION_LIMIT_REACHED
    expect(errors, [ErrorCode.NONE] * SESSIONS_MAX + [limit], "errors of new sessions")
    members[0].session_epoch = 1
    members[0].close_session()
    eventually(
        lambda: members[-1].try_to_fetch(share_session_epoch=0).error_code,
        lambda error: error == ErrorCode.NONE,
        "a session in the place of the one that was closed",
    )
