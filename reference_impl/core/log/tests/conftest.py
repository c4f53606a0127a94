"""What the tests of the log have in common."""

import pytest

from reference_impl.core.storage import MemoryStorage


@pytest.fixture
def storage() -> MemoryStorage:
    """A disk in memory, empty."""
    return MemoryStorage()
