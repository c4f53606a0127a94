"""A change between versions is cited in one form, so that a program can list and a reader trust it.

The form, on a line of its own above the branch it explains:

    # [New in v8: KIP-467]
    # [Modified in v13: KIP-516]
"""

import re
from pathlib import Path

from ci.checks.sources import python_files

CITED_PACKAGES = ("reference_impl", "conformance")
RIGHT = re.compile(r"\s*# \[(?:New|Modified) in v\d+: KIP-\d+\]")
MEANT = re.compile(r"\[\s*(?:new|modified|added|changed|removed)\s+(?:in|since)\b", re.IGNORECASE)


def citation_violations(root: Path) -> list[str]:
    """A sentence for every line that means a citation and is not one."""
    sentences = []
    for path in python_files(root):
        name = path.relative_to(root)
        if name.parts[0] not in CITED_PACKAGES:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if MEANT.search(line) and not RIGHT.fullmatch(line):
                sentences.append(
                    f"{name}:{number}: write `# [New in vN: KIP-n]` or `# [Modified in vN: KIP-n]`"
                    f" on a line of its own, not {line.strip()!r}"
                )
    return sentences
