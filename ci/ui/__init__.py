"""Show a directory of runs: one page with all of them, from a local server or as static files.

serve(Path("runs"), port=8000)        # until Ctrl-C
write_static(Path("runs"), out)       # index.html, badges, and the reports if `out` is elsewhere
"""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import quote

from ci.ui.badges import badges_of
from ci.ui.entry import Entry
from ci.ui.index import SITE, read_index
from ci.ui.page import page_of
from ci.ui.server import Server

__all__ = ["serve", "write_static"]


def serve(runs: Path, port: int) -> None:
    """Serve the page until Ctrl-C. Raise UsageError for a bad directory or port."""
    read_index(runs)
    with Server(runs, port) as server:
        print(f"{server.url} shows {runs}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("ended")


def write_static(runs: Path, out: Path) -> Path:
    """Write the page and its badges, and return the page's path. If `out` is not the directory of
    runs itself, copy their reports and logs into it, so that `out` can be published by itself.
    Raise UsageError if `runs` is not a directory of runs."""
    index = read_index(runs)
    is_apart = out.resolve() != runs.resolve()
    (out / "badges").mkdir(parents=True, exist_ok=True)
    for name, picture in badges_of(index).items():
        (out / "badges" / name).write_text(picture, encoding="utf-8")
    if is_apart:
        (out / SITE).touch()
        for entry in index.runs:
            _copy(runs, out, entry)
    page = out / "index.html"
    title = runs.resolve().name
    page.write_text(page_of(index, title, _static_link), encoding="utf-8")
    return page


def _static_link(entry: Entry) -> str:
    return f"{quote(entry.path)}/report.html" if entry.has_report else ""


def _copy(runs: Path, out: Path, entry: Entry) -> None:
    files = [*entry.logs, *(["report.html"] if entry.has_report else [])]
    for name in files:
        source, kept = runs / entry.path / name, out / entry.path / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, kept)
