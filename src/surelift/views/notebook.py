"""Results in a notebook: the sentence, the table, and all of the text behind a fold. No script, no network."""

from html import escape
from typing import Any

from surelift.errors import UsageError
from surelift.views.names import visible
from surelift.views.pictures import picture
from surelift.views.sentences import sentence
from surelift.views.tables import Table, table
from surelift.views.text import text


def notebook_html(result: Any) -> str:
    doubts = "".join(f"<p>Doubt: {_text(doubt)}.</p>" for doubt in getattr(result, "doubts", ()))
    return (
        f"<div><p><strong>{_text(sentence(result))}</strong></p>{doubts}{_table_of(result)}"
        f"<details><summary>in full</summary><pre>{escape(text(result))}</pre></details></div>"
    )


def _table_of(result: Any) -> str:
    try:
        return table_html(table(picture(result)))
    except UsageError:
        return ""  # nothing to see: the text says it all


def table_html(found: Table) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in found.head)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in found.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _text(text: str) -> str:
    return escape(visible(text))
