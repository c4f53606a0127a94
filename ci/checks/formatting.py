"""Forbid comments that switch the formatter off for a line or a block.

Where a special layout seems needed, write the content as data, or give its parts names.
"""

import re
from pathlib import Path

from ci.checks.sources import python_files

SWITCH = re.compile(r"#\s*fmt:\s*(?:skip|off)\b")


def formatting_violations(root: Path) -> list[str]:
    """Return a sentence for every comment that switches the formatter off."""
    return [
        f"{path.relative_to(root)}:{number}: it switches the formatter off; name the parts of the"
        " expression instead"
        for path in python_files(root)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if SWITCH.search(line)
    ]
