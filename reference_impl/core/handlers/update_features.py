"""UpdateFeatures (API key 57). Spec: KIP-584, KIP-778 (kinds of updates, v1), KIP-1022 (one result,
v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import records_of_update, upgrade_quorum
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ERRORS, ErrorCode, definition

RESPONSE = definition("UpdateFeaturesResponse")


def handle_update_features(controller: Controller, request: Request) -> Iterator[Effect]:
    """Set features to other levels (validate_only: only check that this is possible). If one of
    them cannot have its level, set none, and answer with an error."""
    body = request.body
    try:
        # VALIDATE
        controller.access.require(request, ALTER_CLUSTER)
        records = records_of_update(controller, body.feature_updates)
    except Refused as refused:
        message = refused.message
        if refused.code == ErrorCode.INVALID_UPDATE_VERSION:
            message = (
                "The update failed for all features since the following feature had an error:"
                f" {message}"
            )
        yield Respond(request, RESPONSE.new(error_code=refused.code, error_message=message))
        return
    # DEDUPLICATE: a level that is in force already is set again, which changes nothing.
    # APPLY
    if not body.validate_only:
        controller.write([*upgrade_quorum(controller, body.feature_updates), *records])
    # RESPOND
    answer = RESPONSE.new(error_message=None)
    # [Modified in v2: KIP-1022] There are no results of single features any more.
    if request.api_version < 2:
        none = ERRORS[ErrorCode.NONE].message
        answer.results = [
            RESPONSE.struct("UpdatableFeatureResult", feature=row.feature, error_message=none)
            for row in body.feature_updates
        ]
    yield Respond(request, answer)
