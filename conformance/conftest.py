"""Bring the plugin of the examination (examining.py) to whoever gives this folder to pytest."""

import pytest

from conformance.session import examining


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register it for all files, since cases of plugins lie elsewhere."""
    if not pluginmanager.is_registered(examining):
        pluginmanager.register(examining, "touchstone-examination")
