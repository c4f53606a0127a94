"""The fixture of the tests that run cases with the framework (they need the plugin pytester)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.tests.suite import Suite


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[Suite]:
    made = Suite(pytester, monkeypatch)
    yield made
    for cluster in made.target.clusters:
        cluster.stop()
