"""Text for a terminal: aligned tables, wrapped prose."""

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import fill

from surelift.views.figures import Figure
from surelift.views.names import quoted
from surelift.views.tables import table

WIDTH = 80
# A name, a number, and words about it.
FACT = re.compile(r"  [a-z ]+?   +[-+0-9.,e]+   +(?=[a-z])")


def wrap(text: str) -> str:
    """Text for a terminal of 80 columns: prose is wrapped, tables are as wide as they need to be."""
    return "\n".join(_wrap_line(line) for line in text.split("\n"))


def _wrap_line(line: str) -> str:
    """Later lines start below the first word, or below the words about a number."""
    fact = FACT.match(line)
    row_of_table = line.startswith("  ") and "  " in line.strip() and fact is None
    if len(line) <= WIDTH or row_of_table:
        return line
    indent = fact.end() if fact else len(line) - len(line.lstrip()) + 2
    return fill(line, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def lines(*parts: str | Iterable[str]) -> str:
    """Lines and lists of lines under each other; empty ones are left out.

    >>> lines("head", ["  a", "  b"], "", "end")
    'head\\n  a\\n  b\\nend'
    """
    flat = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return "\n".join(line for line in flat if line)


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as columns: the first aligned left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        (
            "  "
            + "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        ).rstrip()
        for row in rows
    ]


def figure_lines(figure: Figure, name: Callable[[str], str] = quoted) -> list[str]:
    """The table of a figure; ``name`` formats its first column."""
    numbers = table(figure)
    return aligned([numbers.head, *((name(row[0]), *row[1:]) for row in numbers.rows)])


def doubt_lines(doubts: Iterable[str]) -> list[str]:
    return [f"Doubt: {doubt}." for doubt in dict.fromkeys(doubts)]


def outside_range(quantity: str, possible: tuple[float, float], mean_weight: float) -> str:
    """Why an estimate may be impossible."""
    low, high = possible
    return (
        f"the estimate is not a possible {quantity}: it lies outside [{low:g}, {high:g}], and the mean weight is "
        f"{mean_weight:.3g}, not 1"
    )
