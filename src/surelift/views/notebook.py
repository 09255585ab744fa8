"""A result in a notebook: the sentence, the table, and the full text behind a fold. No script, no network."""

from collections.abc import Iterable
from html import escape

from surelift.views.figures import Figure
from surelift.views.names import visible
from surelift.views.tables import Table, table


def notebook_html(sentence: str, text: str, figure: Figure | None, doubts: Iterable[str]) -> str:
    caveats = "".join(f"<p>Doubt: {_escaped(doubt)}.</p>" for doubt in doubts)
    numbers = "" if figure is None else table_html(table(figure))
    return (
        f"<div><p><strong>{_escaped(sentence)}</strong></p>{caveats}{numbers}"
        f"<details><summary>in full</summary><pre>{escape(text)}</pre></details></div>"
    )


def table_html(numbers: Table) -> str:
    head = "".join(f"<th>{_escaped(cell)}</th>" for cell in numbers.head)
    rows = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in numbers.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _escaped(text: str) -> str:
    return escape(visible(text))
