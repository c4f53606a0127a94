"""ApiVersions (API key 18). Spec: KIP-35; KIP-511 (client software, fallback to v0), KIP-584
(features), KIP-1022 (features whose lowest level is 0)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.features import KRAFT, SUPPORTED
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

RESPONSE = definition("ApiVersionsResponse")
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
SOFTWARE_TOLD_SINCE = 3
LOWEST_LEVEL_0_SINCE = 4


def handle_api_versions(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the APIs and versions that this listener serves, and with the cluster's features.
    Refuse an unknown version of this request (UNSUPPORTED_VERSION, in the form of version 0) and
    invalid client software (INVALID_REQUEST). Remember the software that a valid request names."""
    # VALIDATE
    apis = broker.apis_for(request.connection)
    own = apis[ApiKey.API_VERSIONS]
    if not own.serves(request.api_version):
        # Version 0 is the one which every client can read (KIP-511).
        body = RESPONSE.new(error_code=ErrorCode.UNSUPPORTED_VERSION)
        body.api_keys = [row(ApiKey.API_VERSIONS, own.min_version, own.max_version)]
        yield Respond(request, body, version=0)
        return
    # [New in v3: KIP-511]
    if request.api_version >= SOFTWARE_TOLD_SINCE and not is_valid(request.body):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.INVALID_REQUEST))
        return
    # DEDUPLICATE: asking changes nothing.
    # APPLY: a connection which must still authenticate may not ask again.
    broker.authentication.told_versions(request)
    if request.api_version >= SOFTWARE_TOLD_SINCE:
        broker.telemetry.told_software(
            request.connection,
            request.body.client_software_name,
            request.body.client_software_version,
        )
    # RESPOND
    body = RESPONSE.new(finalized_features_epoch=broker.image.end_offset - 1)
    for key, api in sorted(apis.items()):
        least = api.min_version
        if api.advertised_min_version is not None:
            least = api.advertised_min_version
        body.api_keys.append(row(key, least, api.max_version))
    body.supported_features = [
        RESPONSE.struct("SupportedFeatureKey", name=name, min_version=least, max_version=most)
        for name, (least, most) in SUPPORTED.items()
        # [Modified in v4: KIP-1022] Clients of older versions cannot read a lowest level of 0.
        if least > 0 or request.api_version >= LOWEST_LEVEL_0_SINCE
    ]
    finalized = dict(broker.image.features)
    if (level := broker.quorum.log.voters.latest.kraft_version) > 0:
        finalized[KRAFT] = level
    body.finalized_features = [
        RESPONSE.struct(
            "FinalizedFeatureKey", name=name, min_version_level=level, max_version_level=level
        )
        for name, level in sorted(finalized.items())
        if name in SUPPORTED
    ]
    yield Respond(request, body)


def row(key: int, min_version: int, max_version: int) -> Struct:
    """Return the answer's row for one API, with the lowest and the highest version to advertise."""
    return RESPONSE.struct(
        "ApiVersion", api_key=key, min_version=min_version, max_version=max_version
    )


def is_valid(body: Struct) -> bool:
    """Return whether the client's software name and version are valid: letters, digits, dots and
    hyphens, with no dot or hyphen at either end (ApiVersionsRequest.isValid)."""
    return all(
        _SOFTWARE.fullmatch(text)
        for text in (body.client_software_name, body.client_software_version)
    )
