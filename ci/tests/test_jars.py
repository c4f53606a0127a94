"""Set-up uses only listed jars whose SHA-256 is the listed one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ci import places
from ci.tools import jars, jvm
from ci.tools.step import StepFailed

MAVEN = """#!/bin/sh
# Brings what lies beside it, as `mvn dependency:copy-dependencies` would.
case " $* " in *" -C "*) ;; *) echo "error: checksums are not strict"; exit 1;; esac
for word; do case $word in -DoutputDirectory=*) out=${word#*=};; esac; done
mkdir -p "$out" && cp "$(dirname "$0")"/*.jar "$out"
"""


@pytest.fixture
def pom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a pom.xml whose two jars a stand-in for Maven brings, and their list."""
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(MAVEN)
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/usr/bin:/bin")
    monkeypatch.setattr(places, "LOGS", tmp_path / "logs")
    for name in ("a-1.jar", "b-2.jar"):
        (maven.parent / name).write_text(name)
    made = tmp_path / "pom.xml"
    jars.write(made.with_name(jars.NAME), jars.sums_of(maven.parent))
    return made


def test_jars_that_are_listed_are_taken(pom: Path, tmp_path: Path) -> None:
    jvm.fetch("jars", pom, tmp_path / "kept")
    assert sorted(jar.name for jar in (tmp_path / "kept").iterdir()) == ["a-1.jar", "b-2.jar"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("b-2.jar", "another", r"b-2\.jar: not the jar whose SHA-256 jars\.sha256 has; delete it"),
        ("c-3.jar", "more", r"c-3\.jar: not in jars\.sha256; `make lock` lists it again"),
        ("a-1.jar", None, r"Maven brought no a-1\.jar"),
    ],
)
def test_any_other_is_refused_by_its_name_and_what_was_there_stays(
    pom: Path, tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    jvm.fetch("jars", pom, tmp_path / "kept")
    jar = tmp_path / "bin" / name
    jar.unlink() if content is None else jar.write_text(content)
    with pytest.raises(StepFailed, match=said):
        jvm.fetch("jars", pom, tmp_path / "kept")
    assert (tmp_path / "kept" / "b-2.jar").read_text() == "b-2.jar"


@pytest.mark.parametrize("text", ["", "no list\n", f"{'0' * 63}  a.jar\n", None])
def test_a_list_that_is_none_is_named(pom: Path, tmp_path: Path, text: str | None) -> None:
    lock = pom.with_name(jars.NAME)
    lock.unlink() if text is None else lock.write_text(text)
    with pytest.raises(StepFailed, match=r"jars\.sha256 .*bring it back from git"):
        jvm.fetch("jars", pom, tmp_path / "kept")


@pytest.mark.parametrize("pom", jvm.poms(), ids=lambda pom: pom.parent.name)
def test_every_pom_has_its_list(pom: Path) -> None:
    wanted = jars.read(pom.with_name(jars.NAME))
    assert len(wanted) > 3
    text = pom.with_name(jars.NAME).read_text()
    assert text == "".join(f"{digest}  {name}\n" for name, digest in sorted(wanted.items()))
    assert all(len(digest) == len(hashlib.sha256().hexdigest()) for digest in wanted.values())
