"""The page: Jinja templates with everything inline; nothing is ever loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ci.report.model import ReportData, Tone

TEMPLATES = Path(__file__).parent / "templates"


def render_html(data: ReportData) -> str:
    """The whole page. Every value is escaped but figures, which escape their own texts."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    template = environment.get_template("report.html.j2")
    return template.render(
        data=data,
        Tone=Tone,
        style=_inline("style.css"),
        script=_inline("script.js"),
    )


def _inline(name: str) -> Markup:
    """A file of ours, as it stands."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))
