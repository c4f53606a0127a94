"""Load the plugin of the conformance suite (examining.py) whenever pytest is given this folder."""

import pytest

from conformance.session import examining


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugin for all files, since the cases of plugins are in other folders."""
    if not pluginmanager.is_registered(examining):
        pluginmanager.register(examining, "touchstone-examination")
