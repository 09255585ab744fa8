"""HTML that needs nothing else, no network, no server, no library on the reader's machine: a page, or a notebook's cell."""

import base64
import json
from collections.abc import Iterable
from datetime import date
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from surelift.views.figures import Figure, brief
from surelift.views.names import visible
from surelift.views.page import Page
from surelift.views.tables import table
from surelift.views.text import doubt_lines
from surelift.views.vega import require_altair, spec

TEMPLATE = Path(__file__).with_name("page.html.j2")


def render(page: Page) -> str:
    """Every name on the page is text: escaped by the template, and inert in the data of the charts."""
    require_altair()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    paragraphs = [paragraph for section in page.sections for paragraph in section.paragraphs]
    charts = [spec(paragraph.figure) for paragraph in paragraphs if paragraph.figure is not None]
    certificate = None if page.certificate is None else json.dumps(page.certificate, indent=2, allow_nan=False)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        page=page,
        charts=in_script(charts),
        bundle=bundle() if charts else "",
        today=date.today().isoformat(),
        certificate=None if certificate is None else base64.b64encode(f"{certificate}\n".encode()).decode(),
    )


def in_script(data: Any) -> str:
    """JSON that cannot close the script element it is written into."""
    text = json.dumps(data, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed, as shipped with vl-convert."""
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    assert "</script" not in script.lower()
    return script


def notebook_html(sentence: str, text: str, figure: Figure | None, doubts: Iterable[str]) -> str:
    """The sentence, the table, and the full text behind a fold, without a script."""
    caveats = "".join(f"<p>{_escaped(doubt)}</p>" for doubt in doubt_lines(doubts))
    return (
        f"<div><p><strong>{_escaped(sentence)}</strong></p>{caveats}{'' if figure is None else _table_html(figure)}"
        f"<details><summary>in full</summary><pre>{escape(text)}</pre></details></div>"
    )


def _table_html(figure: Figure) -> str:
    numbers = table(brief(figure))
    head = "".join(f"<th>{_escaped(cell)}</th>" for cell in numbers.head)
    rows = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in numbers.rows)
    note = f"<p>{_escaped(numbers.note)}</p>" if numbers.note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _escaped(text: str) -> str:
    return escape(visible(text))
