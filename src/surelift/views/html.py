"""HTML that needs nothing else, no network, no server, no library on the reader's machine: a page, or a notebook's cell."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from surelift.version import __version__
from surelift.views.charts import STAR, Identities, panels
from surelift.views.figures import Figure, Growing, WeightHistogram
from surelift.views.formats import visible
from surelift.views.glossary import WORDS
from surelift.views.page import Page, Paragraph, Section
from surelift.views.tables import table
from surelift.views.text import doubt_lines
from surelift.views.vega import require_altair, spec

TEMPLATE = Path(__file__).with_name("page.html.j2")
EXPLAINED = (
    "lower bound", "certified", "improvement", "propensity", "weight", "effective sample size", "e-value", "looks",
)  # fmt: skip
# Of the picture that stands in for a chart where scripts do not run, and what cannot be seen in it, most of its bytes.
STILL_WIDTH = 640
_TAG, _EMPTY = re.compile(r"<[a-z][^>]*>"), re.compile(r'<path d="(?:M0,0h0v0h0Z)?"[^>]*/>')
_UNSEEN = re.compile(
    r' (?:aria-\w+|role|class|pointer-events|font-family|opacity(?=="1")|stroke-width(?=="1"))="[^"]*"|(?<=\.\d)\d+'
)


def render(page: Page) -> str:
    """Every name on the page is text: escaped by the template, and inert in the data of the charts."""
    require_altair()
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = visible
    figures = [each.figure for section in page.sections for each in section.paragraphs if each.figure is not None]
    shown = [name for figure in figures for name in figure.policies]
    identities = Identities.of([*page.policies, *shown], page.chosen)
    charts: list[dict[str, Any]] = []
    sections = [(section.heading, list(_drawn(section, identities, charts))) for section in page.sections]
    certificate = None
    if page.certificate is not None:
        text = json.dumps(page.certificate, indent=2, allow_nan=False) + "\n"
        certificate = base64.b64encode(text.encode()).decode()
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        page=page, sections=sections, colours=identities.colours, star=STAR, charts=in_script(charts),
        bundle=bundle() if charts else "", made=f"{date.today().isoformat()}, surelift {__version__}",
        certificate=certificate, words={word: WORDS[word] for word in EXPLAINED},
    )  # fmt: skip


def _drawn(
    section: Section, identities: Identities, charts: list[dict[str, Any]]
) -> Iterator[tuple[Paragraph, list[dict[str, Any]], list[str]]]:
    """The paragraphs of a section, each with its drawings and the policies to name above them; adds to the charts.

    A drawing is the place of a chart in the list, a still for readers without scripts, and the policy above a small one.
    """
    for paragraph in section.paragraphs:
        figure, drawings, key = paragraph.figure, [], list[str]()
        for panel in () if figure is None else panels(figure):
            charts.append(spec(panel.figure, identities))
            drawings.append({"index": len(charts) - 1, "still": still(charts[-1]), "policy": panel.policy})
        if isinstance(figure, Growing | WeightHistogram) and len(drawings) == 1 and len(figure.policies) > 1:
            key = figure.policies
        yield paragraph, drawings, key


def still(chart: dict[str, Any]) -> str:
    """A picture of a chart, as an SVG in base64."""
    import vl_convert

    drawn = {**chart, "width": STILL_WIDTH, "background": "white", "config": {"aria": False}}
    svg: str = vl_convert.vegalite_to_svg(drawn)
    seen = _EMPTY.sub("", _TAG.sub(lambda tag: _UNSEEN.sub("", tag[0]), svg))
    picture = seen.replace("<svg ", '<svg font-family="sans-serif" ', 1)
    return base64.b64encode(picture.encode()).decode()


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
    numbers = ""
    if figure is not None:
        shown = table(figure.brief())
        head, rows = _elements("th", shown.head), "".join(f"<tr>{_elements('td', row)}</tr>" for row in shown.rows)
        note = _elements("p", [shown.note] if shown.note else [])
        numbers = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
    return (
        f"<div><p>{_elements('strong', [sentence])}</p>{_elements('p', doubt_lines(doubts))}{numbers}"
        f"<details><summary>in full</summary><pre>{escape(text)}</pre></details></div>"
    )


def _elements(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{escape(visible(text))}</{tag}>" for text in texts)
