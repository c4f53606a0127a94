"""Files of settings are read as java.util.Properties reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.core.configs.keys import BadConfig
from reference_impl.host.settings import properties

TEXT = r"""
# a comment
   ! another, \
a=1
b : 2
  c 3
d
e=\ leading\tand\u00e4\
      joined
f\:g\=h=i=j:k
# doubled: the last one is meant
a = one
jaas=Module required password="a\\b";
z=end\
"""
READ = {
    "a": "one",
    "b": "2",
    "c": "3",
    "d": "",
    "e": " leading\tandäjoined",
    "f:g=h": "i=j:k",
    "jaas": 'Module required password="a\\b";',
    "z": "end",
}


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_it_is_read_as_java_reads_it(tmp_path: Path, end: str) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(TEXT.replace("\n", end).encode("latin-1"))
    assert properties.read(file) == READ


def test_bytes_are_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"a=\xe4\xa0b")
    assert properties.read(file) == {"a": "ä\xa0b"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a=1\n=2\n", "line 2: no key; write KEY=VALUE"),
        (b"a=\\u12g4\n", "line 1: .*without four hexadecimal digits"),
        (b"\n\n\\u=1", "line 3: "),
    ],
)
def test_what_is_no_setting_is_refused_with_its_line(tmp_path: Path, text: bytes, why: str) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(text)
    with pytest.raises(BadConfig, match=why) as refused:
        properties.read(file)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        BadConfig, match=r"none\.properties: No such file or directory; name a file"
    ):
        properties.read(tmp_path / "none.properties")
    with pytest.raises(BadConfig, match="Is a directory"):
        properties.read(tmp_path)
