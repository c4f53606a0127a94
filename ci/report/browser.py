"""Open a local page in headless Chromium, for the screenshot and for tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from ci.doctor import BROWSERS
from ci.errors import UsageError

TIMEOUT_S = 120
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)
"""Options of Chromium. The sandbox is off, since it does not work as root or in most containers,
and the page is our own."""


def find_browser() -> str:
    """Return the path of a Chromium program. Raise UsageError if there is none."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            f"none of {', '.join(BROWSERS)} is on PATH; install one (apt-get install chromium)"
        )
    return found


def open_page(page: Path, *options: str, width: int = 1240, height: int = 900) -> tuple[str, str]:
    """Open a page with further options of Chromium. Return Chromium's standard output and its log.
    Raise UsageError if Chromium fails or does not end in time."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(
        prefix="touchstone-browser-", ignore_cleanup_errors=True
    ) as profile:
        command = [
            browser,
            *QUIET,
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            *options,
            page.resolve().as_uri(),
        ]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"{browser} did not open {page} within {TIMEOUT_S} s") from error
    logged = done.stderr.decode(errors="replace")
    if done.returncode:
        raise UsageError(f"{browser} could not open {page}: {logged.strip()[-300:]}")
    return done.stdout.decode(errors="replace"), logged
