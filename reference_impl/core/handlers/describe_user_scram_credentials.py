"""DescribeUserScramCredentials (API key 50). Spec: KIP-554; ScramImage.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import counted, for_each
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeUserScramCredentialsResponse")


def handle_describe_user_scram_credentials(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer for which mechanisms, and with how many iterations, the named users or all of them
    have credentials, but never the credentials."""
    # VALIDATE
    try:
        broker.access.require(request, DESCRIBE_CLUSTER)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code, error_message=refused.message))
        return
    # DEDUPLICATE: a user who is named twice gets one row, which says so. APPLY: nothing.
    wanted = [row.name for row in request.body.users or ()] or broker.image.scram_users.names()
    times = yield from counted(request, list(wanted))
    rows = yield from for_each(request, times.items(), lambda item: described(broker, *item))
    # RESPOND
    yield Respond(request, RESPONSE.new(error_message="", results=rows))


def described(broker: Broker, user: str, times: int) -> Struct:
    """Return the row of one user, with the mechanisms and iterations of its credentials, or with an
    error if it is named several times or has none."""
    row = RESPONSE.struct("DescribeUserScramCredentialsResult", user=user, error_message=None)
    credentials = broker.image.scram_users.credentials(user)
    if times > 1:
        row.error_code = ErrorCode.DUPLICATE_RESOURCE
        row.error_message = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    elif not credentials:
        row.error_code = ErrorCode.RESOURCE_NOT_FOUND
        row.error_message = f"Attempt to describe a user credential that does not exist: {user}"
    else:
        row.credential_infos = [
            RESPONSE.struct("CredentialInfo", mechanism=number, iterations=credential.iterations)
            for number, credential in sorted(credentials.items())
        ]
    return row
