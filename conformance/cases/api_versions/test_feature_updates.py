"""UpdateFeatures: levels that no controller can take (KIP-584). Nothing is changed by any case."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.cases.api_versions.test_api_versions import api_versions
from conformance.cases.api_versions.test_features import finalized
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct

UPGRADE, SAFE_DOWNGRADE = 1, 2
"""FeatureUpdate.UpgradeType."""
REFUSALS = frozenset({ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FEATURE_UPDATE_FAILED})


def update(wire: Wire, version: int, feature: str, level: int, upgrade_type: int) -> Struct:
    """Send UpdateFeatures for one feature."""
    entry = part(
        "UpdateFeatures",
        "FeatureUpdateKey",
        feature=feature,
        max_version_level=level,
        upgrade_type=upgrade_type,
    )
    return wire.call("UpdateFeatures", version, feature_updates=[entry], timeout_ms=20_000)


@pytest.mark.parametrize(
    ("feature", "level", "upgrade_type"),
    [
        ("no.such.feature", 1, UPGRADE),
        ("metadata.version", 32767, UPGRADE),
        ("metadata.version", -1, UPGRADE),
        ("metadata.version", 1, SAFE_DOWNGRADE),
    ],
    ids=["unknown", "too-high", "negative", "too-low"],
)
@case("REPL-11", "UpdateFeatures", spec="KIP-584; class FeatureControlManager", priority="P2")
def test_an_impossible_level_of_a_feature_is_refused(
    wire: Wire, version: int, feature: str, level: int, upgrade_type: int
) -> None:
    """A feature that the cluster does not know, and a level that no controller supports, get
    INVALID_UPDATE_VERSION (95) or FEATURE_UPDATE_FAILED (96); the features in force stay."""
    apis = wire.version("ApiVersions", 3)
    before = finalized(api_versions(wire.bootstrap, apis))
    answer = update(wire, version, feature, level, upgrade_type)
    # Some versions say it of the whole answer, others of the feature's row.
    errors = {answer.error_code, *(r.error_code for r in answer.results)} - {0}
    expect(len(errors), 1, "kinds of errors")
    expect(errors.pop(), REFUSALS, "error")
    expect(finalized(api_versions(wire.bootstrap, apis)), before, "features in force afterwards")


@case("REPL-11", "UpdateFeatures", spec="KIP-584; KIP-778", priority="P2")
def test_a_downgrade_must_be_asked_for_as_one(wire: Wire, version: int) -> None:
    """A lower level of a feature, asked for as an upgrade, gets INVALID_UPDATE_VERSION (95) or
    FEATURE_UPDATE_FAILED (96); the features in force stay."""
    apis = wire.version("ApiVersions", 3)
    before = finalized(api_versions(wire.bootstrap, apis))
    level = before["metadata.version"][1] - 1
    answer = update(wire, version, "metadata.version", level, UPGRADE)
    errors = {answer.error_code, *(r.error_code for r in answer.results)} - {0}
    expect(len(errors), 1, "kinds of errors")
    expect(errors.pop(), REFUSALS, "error")
    expect(finalized(api_versions(wire.bootstrap, apis)), before, "features in force afterwards")
