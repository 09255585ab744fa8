"""One page of HTML that needs nothing else: no network, no server, no library on the reader's machine."""

import base64
import json
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from surelift.views.charts import require_altair, spec
from surelift.views.names import visible
from surelift.views.page import Page, page

TEMPLATE = Path(__file__).with_name("page.html.j2")


def page_of(result: Any, title: str | None = None) -> str:
    """A result as HTML. Every name in it is text: escaped by the template, and inert in the data of the charts."""
    content = page(result)
    return render(content if title is None else replace(content, title=title))


def render(content: Page) -> str:
    require_altair()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    charts = [spec(part.picture) for section in content.sections for part in section.parts if part.picture is not None]
    certificate = None if content.certificate is None else json.dumps(content.certificate, indent=2, allow_nan=False)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        page=content,
        charts=in_script(charts),
        bundle=bundle() if charts else "",
        today=date.today().isoformat(),
        certificate=None if certificate is None else base64.b64encode(f"{certificate}\n".encode()).decode(),
    )


def in_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed, as vl-convert holds them."""
    import vl_convert

    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    assert "</script" not in made.lower()
    return made
