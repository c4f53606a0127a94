"""Assemble the sources of the site: docs/, the READMEs of the packages, and the reference pages.

A link to a page of the site is rewritten to that page's place there. A link to any other file of
the project becomes plain text, since a reader of the site has no checkout.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ci import places
from ci.docs.reference import pages

DOCS = places.ROOT / "docs"
INSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{
        f"{folder}/README.md": f"inside/{folder.replace('/', '-')}.md"
        for folder in ("reference_impl", "conformance", "chaos", "linearizability")
    },
}
"""File of the project outside docs/ -> its page in the site."""
LEFT_OUT = ("plugin-template",)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("http://", "https://", "mailto:")


def sources() -> dict[str, str]:
    """Return file of the project -> its page in the site, for the Markdown files of docs/ (without
    the template of a plugin) and those of INSIDE."""
    found = {}
    for file in sorted(DOCS.rglob("*.md")):
        path = file.relative_to(DOCS)
        if path.parts[0] not in LEFT_OUT:
            found[f"docs/{path.as_posix()}"] = path.as_posix()
    return found | INSIDE


def stage(out: Path) -> None:
    """Write the sources of the site into an empty directory."""
    where = sources()
    for file in DOCS.rglob("*"):
        path = file.relative_to(DOCS)
        if file.is_file() and file.suffix != ".md" and path.parts[0] not in LEFT_OUT:
            _copy(file, out / path)
    for source, page in where.items():
        text = (places.ROOT / source).read_text(encoding="utf-8")
        _write(out / page, bent(text, source, page, where))
    for page, text in pages().items():
        _write(out / page, text)


def bent(text: str, source: str, page: str, where: dict[str, str]) -> str:
    """Return a page's text with its links rewritten for the site; links in code examples are not
    changed. source, page: the path of the text in the project and in the site; where:
    `sources()`."""

    def turned(found: re.Match[str]) -> str:
        is_picture, words, link = found.groups()
        target, _, anchor = link.partition("#")
        if link.startswith(ELSEWHERE) or not target:
            return found[0]
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if meant in where:
            to = posixpath.relpath(where[meant], posixpath.dirname(page) or ".")
            return f"{is_picture}[{words}]({to}{'#' + anchor if anchor else ''})"
        if meant.startswith("docs/"):
            to = posixpath.relpath(meant.removeprefix("docs/"), posixpath.dirname(page) or ".")
            return f"{is_picture}[{words}]({to})"
        return words if "`" in words else f"{words} (`{meant}`)"

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(turned, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join((*parts, LINK.sub(turned, text[last:])))


def dead_links() -> Iterator[str]:
    """Yield a sentence for each link in the documents whose target, or anchor, does not exist.
    Links to other sites are not followed."""
    generated = pages()
    known = {page: _anchors(text) for page, text in generated.items()}
    for source in ("README.md", *sources()):
        file = places.ROOT / source
        text = FENCE.sub("", file.read_text(encoding="utf-8"))
        for _, _, link in LINK.findall(text):
            target, _, anchor = link.partition("#")
            if link.startswith(ELSEWHERE):
                continue
            meant = file if not target else Path(os.path.normpath(file.parent / target))
            if meant.is_relative_to(DOCS) and str(meant.relative_to(DOCS)) in known:
                anchors = known[str(meant.relative_to(DOCS))]
            elif not meant.exists():
                yield f"{source}: {link} leads to no file"
                continue
            elif not anchor or meant.suffix != ".md":
                continue
            else:
                anchors = _anchors(meant.read_text(encoding="utf-8"))
            if anchor and anchor not in anchors:
                yield f"{source}: {link} names no heading of that page"


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as MkDocs generates them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[^\w\s-]", "", LINK.sub(r"\2", heading).replace("`", "")).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", plain))
    return found


def _copy(source: Path, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, out)


def _write(out: Path, text: str) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
