"""Render the page from Jinja templates with everything inline; the page loads nothing."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ci.report.model import ReportData, Tone
from linearizability.explain import style

TEMPLATES = Path(__file__).parent / "templates"


def render_html(data: ReportData) -> str:
    """Return the whole page as HTML. Every value is escaped except figures, which have escaped
    their own texts."""
    return render(
        "report.html.j2", data=data, Tone=Tone, script=inline("script.js") + inline("zoom.js")
    )


def render(template: str, **values: object) -> str:
    """Return one of the project's templates, rendered with the style that all pages share."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    return environment.get_template(template).render(
        style=inline("style.css") + Markup(style.COLOURS + style.RULES), **values
    )


def inline(name: str) -> Markup:
    """Return the content of one of the project's files, unescaped, for inclusion in a page."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))
