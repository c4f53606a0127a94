"""AlterUserScramCredentials (API key 51). Spec: KIP-554; ScramControlManager.java.

The client salts the password itself: the broker never sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.scram_users import removal_record, set_record
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import counted, for_each
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.core.security.sasl.scram import (
    BY_NUMBER,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    credential_of,
)
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("AlterUserScramCredentialsResponse")
APPLIED_AT_ONCE = 100
"""The number of credentials that change before other requests have their turn."""


def handle_alter_user_scram_credentials(
    controller: Controller, request: Request
) -> Iterator[Effect]:
    """Set and delete credentials; each user of the request changes or is refused independently of
    the others. Refuse a user that the request names twice."""
    deletions, upsertions = request.body.deletions, request.body.upsertions
    times = yield from counted(request, (row.name for row in (*deletions, *upsertions)))
    errors: dict[str, Refused | None] = dict.fromkeys(times)
    records: list[Struct] = []
    for row, change in (
        *((row, deleted) for row in deletions),
        *((row, upserted) for row in upsertions),
    ):
        if len(records) >= APPLIED_AT_ONCE:
            controller.write(records)
            records = []
        if not records:  # what was checked is written before others have their turn
            yield GiveWay(request)
        try:
            # VALIDATE
            controller.access.require(request, ALTER_CLUSTER)
            check_row(row)
            record = change(controller, row)
            # DEDUPLICATE
            if times[row.name] > 1:
                raise Refused(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            records.append(record)
        except Refused as refused:
            errors[row.name] = errors[row.name] or refused
    # APPLY
    if records:
        controller.write(records)
    # RESPOND
    rows = yield from for_each(request, errors.items(), lambda item: result(*item))
    yield Respond(request, RESPONSE.new(results=rows))


def check_row(row: Struct) -> None:
    """Raise Refused if the row has no user name or an unknown SCRAM mechanism."""
    if not row.name:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if row.mechanism not in BY_NUMBER:
        raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")


def deleted(controller: Controller, row: Struct) -> Struct:
    """Return the record that removes a credential. Raise Refused if the user has none of this
    mechanism."""
    if controller.image.scram_users.credential(row.name, row.mechanism) is None:
        raise Refused(
            ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
        )
    return removal_record(row.name, row.mechanism)


def upserted(_: Controller, row: Struct) -> Struct:
    """Return the record that sets a credential. Raise Refused for too few or too many
    iterations."""
    if row.iterations < ITERATIONS_MIN:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if row.iterations > ITERATIONS_MAX:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    credential = credential_of(
        BY_NUMBER[row.mechanism], bytes(row.salt), row.iterations, bytes(row.salted_password)
    )
    return set_record(row.name, row.mechanism, credential)


def result(user: str, refused: Refused | None) -> Struct:
    """Return the result row of one user. It has the error of `refused`, or none if that is None."""
    row = RESPONSE.struct("AlterUserScramCredentialsResult", user=user, error_message=None)
    if refused is not None:
        row.error_code, row.error_message = refused.code, refused.message
    return row
