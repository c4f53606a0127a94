"""Verify the SHA-256 of every jar that Maven brings, by a list beside each pom.xml (format of
`sha256sum`).

The jars are compared with the list before they are used, so the repository need not be trusted. In
addition, Maven refuses jars that differ from the repository's own checksums (-C). `make lock`
writes the lists.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from ci.tools.step import StepFailed

NAME = "jars.sha256"
_LINE = re.compile(r"([0-9a-f]{64})  (\S+\.jar)")


def sums_of(folder: Path) -> dict[str, str]:
    """Return file name -> SHA-256 for each jar in a folder."""
    found = {}
    for jar in sorted(folder.glob("*.jar")):
        with jar.open("rb") as file:
            found[jar.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def read(lock: Path) -> dict[str, str]:
    """Return the file names and SHA-256 in a list. Raise StepFailed if the file is not such a
    list."""
    try:
        lines = lock.read_text("ascii").splitlines()
    except (OSError, ValueError) as error:
        raise StepFailed(f"{lock} cannot be read ({error}); bring it back from git") from error
    matches = [_LINE.fullmatch(line) for line in lines]
    if not matches or None in matches:
        raise StepFailed(
            f"{lock} is not a list of jars; bring it back from git, or run `make lock`"
        )
    return {match[2]: match[1] for match in matches if match is not None}


def write(lock: Path, sums: Mapping[str, str]) -> None:
    """Write the list for these jars."""
    lock.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))


def check(folder: Path, lock: Path) -> None:
    """Raise StepFailed, with the file name, for a jar that differs from the list, is not listed, or
    is missing."""
    wanted, found = read(lock), sums_of(folder)
    wrong = [name for name in found if name in wanted and found[name] != wanted[name]]
    if wrong:
        raise StepFailed(
            f"{', '.join(wrong)}: not the jar whose SHA-256 {lock.name} has; delete it from Maven's"
            " local repository and ask a repository that you trust"
        )
    if strange := sorted(set(found) - set(wanted)):
        raise StepFailed(f"{', '.join(strange)}: not in {lock.name}; `make lock` lists it again")
    if lacking := sorted(set(wanted) - set(found)):
        raise StepFailed(f"Maven brought no {', '.join(lacking)}; see .cache/logs")
