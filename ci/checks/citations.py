"""Require one form for citing a change between versions, so that a program can list the citations.

The citation begins the comment above the branch it explains, or the docstring of a rule. Outside
the handler of its API it names that API. A reason may follow:

# [New in v8: KIP-467]
    # [Modified in EndTxn v5: KIP-890] Every transaction ends with a new epoch.
"""

import re
from pathlib import Path

from ci.checks.sources import python_files

CITED_PACKAGES = ("reference_impl", "conformance")
RIGHT = re.compile(
    r"""\s*(?:# |\"{3})\[(?:New|Modified) in (?:[A-Z]\w+ )?v\d+: KIP-\d+\](?: \S.*)?"""
)
MEANT = re.compile(r"\[\s*(?:new|modified|added|changed|removed)\s+(?:in|since)\b", re.IGNORECASE)


def citation_violations(root: Path) -> list[str]:
    """Return a sentence for every line of CITED_PACKAGES that looks like the citation of a change,
    but is not a comment or docstring that begins with `[New in vN: KIP-n]` or
    `[Modified in vN: KIP-n]`."""
    sentences = []
    for path in python_files(root):
        name = path.relative_to(root)
        if name.parts[0] not in CITED_PACKAGES:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if MEANT.search(line) and not RIGHT.fullmatch(line):
                sentences.append(
                    f"{name}:{number}: begin the comment with `[New in vN: KIP-n]` or"
                    f" `[Modified in vN: KIP-n]`, not {line.strip()!r}"
                )
    return sentences
