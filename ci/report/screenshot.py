"""Take a screenshot of a report for a README: python -m ci.report.screenshot REPORT.html
PICTURE.png"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ci.errors import UsageError
from ci.report.browser import open_page


def screenshot(page: Path, picture: Path, width: int = 1240, height: int = 1500) -> Path:
    """Write the first `height` pixels of a page as PNG, and return the picture's path. Raise
    UsageError if that is not possible."""
    if not page.is_file():
        raise UsageError(f"{page}: no such report; `touchstone report RUN` draws one")
    picture.parent.mkdir(parents=True, exist_ok=True)
    open_page(page, f"--screenshot={picture.resolve()}", width=width, height=height)
    if not picture.exists():
        raise UsageError(f"the browser wrote no picture to {picture}")
    return picture


def main() -> int:
    parser = argparse.ArgumentParser(description="Take the picture of a report.")
    parser.add_argument("page", type=Path, help="the HTML file")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--width", type=int, default=1240)
    parser.add_argument("--height", type=int, default=1500)
    chosen = parser.parse_args()
    try:
        picture = screenshot(chosen.page, chosen.picture, chosen.width, chosen.height)
    except UsageError as error:
        print(f"touchstone: {error}", file=sys.stderr)
        return 2
    print(f"{picture}: {picture.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
