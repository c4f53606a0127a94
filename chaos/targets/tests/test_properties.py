"""Test that a node reads the settings that were written for it with their intended values."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.host.settings import properties
from reference_impl.host.settings.properties import write_private

TEXTS = st.text(st.characters(max_codepoint=0xFFFF, codec="utf-8"))


@given(settings=st.dictionaries(TEXTS.filter(bool), TEXTS))
def test_any_setting_comes_back(settings: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "nodes" / "server.properties"
        write_private(file, {"old": "one"})
        write_private(file, settings)
        assert properties.read(file) == settings
        assert file.stat().st_mode & 0o777 == 0o600
