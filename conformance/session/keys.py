"""Keys of the stash of pytest's config, under which an examination keeps its parts."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.reporting.results import Results
from conformance.session.ending import Ending
from conformance.target.examination import Examined

EXAMINED = pytest.StashKey[Examined]()
RESULTS = pytest.StashKey[Results]()
ENDING = pytest.StashKey[Ending]()
INTERRUPTS = pytest.StashKey[Any]()
"""The context in which signals end the examination."""
