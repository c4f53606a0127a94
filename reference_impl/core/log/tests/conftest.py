"""Fixtures that the tests of the log share."""

import pytest

from reference_impl.core.storage import MemoryStorage


@pytest.fixture
def storage() -> MemoryStorage:
    """Return an empty disk in memory."""
    return MemoryStorage()
