"""A page as one HTML file that needs nothing else: no network, no server, no library on the reader's machine."""

import base64
import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from surelift.views.names import visible
from surelift.views.page import Page
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
