"""UpdateFeatures: levels that no controller can take (KIP-584). Nothing is changed by any case."""

from __future__ import annotations

import pytest

from conformance.case import Unsupported, case, expect
from conformance.cases.api_versions.test_api_versions import api_versions
from conformance.cases.api_versions.test_features import finalized
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct

TRANSACTIONS = "transaction.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2
"""FeatureUpdate.UpgradeType."""
REFUSALS = frozenset({ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FEATURE_UPDATE_FAILED})


def update(
    wire: Wire, version: int, feature: str, level: int, upgrade_type: int, **fields: bool
) -> Struct:
    """Send UpdateFeatures for one feature. fields: others of the request."""
    entry = part(
        "UpdateFeatures",
        "FeatureUpdateKey",
        feature=feature,
        max_version_level=level,
        upgrade_type=upgrade_type,
    )
    return wire.call(
        "UpdateFeatures", version, feature_updates=[entry], timeout_ms=20_000, **fields
    )


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


@case("REPL-11", "UpdateFeatures", spec="KIP-778; KIP-1022", priority="P2", versions=(1, 2))
def test_a_change_that_is_only_validated_changes_nothing(wire: Wire, version: int) -> None:
    """A lower level of transaction.version, asked for as a safe downgrade and validated only, gets
    no error, in version 1 with a row for the feature; the features in force stay."""
    apis = wire.version("ApiVersions", 3)
    before = finalized(api_versions(wire.bootstrap, apis))
    level = before.get(TRANSACTIONS, (0, 0))[1]
    if level < 1:
        raise Unsupported(f"{TRANSACTIONS} is at its lowest level")
    kind = SAFE_DOWNGRADE
    answer = update(wire, version, TRANSACTIONS, level - 1, kind, validate_only=True)
    rows = [] if version > 1 else [(TRANSACTIONS, ErrorCode.NONE)]
    found = answer.error_code, [(row.feature, row.error_code) for row in answer.results]
    expect(found, (ErrorCode.NONE, rows), "(error, results)")
    expect(finalized(api_versions(wire.bootstrap, apis)), before, "features in force afterwards")
