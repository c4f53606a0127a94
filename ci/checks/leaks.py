"""Forbid traces of the machine on which a file was written: absolute private paths and package
index hosts.

The patterns are spelled so that this file does not match itself.
"""

import re
from pathlib import Path

from ci.checks.sources import project_files

MACHINE_PATH = re.compile(
    r"(?<![\w.$}>/-])/(?:work|root|farm|tmp|home|Users)(?:/[\w.]|\b(?=[\"'`]))"
)
REGISTRY = re.compile(
    r"\b(?:pypi[.]org|pythonhosted[.]org|repo1?[.]maven[.]|maven[.]org|proxy[.]golang[.]org"
    r"|sum[.]golang[.]org|registry-1[.]docker|index[.]docker[.]io|registry[.]npmjs|crates[.]io"
    r"|deb[.]debian[.]org|archive[.]ubuntu[.]com)",
    re.IGNORECASE,
)
INDEX_OPTION = re.compile(r"\s*(?:-i|--index-url|--extra-index-url|-f|--find-links)\b")


def leak_violations(root: Path) -> list[str]:
    """Return a sentence for every private path, package registry's host, and option of a .lock or
    .in file that chooses an index. Files that are not UTF-8 text are skipped."""
    sentences = []
    for path in project_files(root):
        name = path.relative_to(root)
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue  # golden bytes and pictures
        for number, line in enumerate(lines, 1):
            if found := MACHINE_PATH.search(line):
                sentences.append(
                    f"{name}:{number}: {found.group()}… is a path of one machine; write a"
                    " relative one"
                )
            if found := REGISTRY.search(line):
                sentences.append(f"{name}:{number}: {found.group()} is a package registry's host")
            if path.suffix in {".lock", ".in"} and INDEX_OPTION.match(line):
                sentences.append(f"{name}:{number}: a lock file must not choose an index")
    return sentences
