"""The text of results: aligned tables, wrapped prose, and what a bound promises."""

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import fill

from surelift.bounds.bound import Promise
from surelift.views.figures import MOST_SHOWN, Figure
from surelift.views.formats import chance, quoted
from surelift.views.tables import table

WIDTH = 80
# A name, a number or two, and words about them.
FACT = re.compile(r"  [a-z ]+?   +[-+0-9.,e%]+( to [-+0-9.,e%]+)?   +(?=[a-z])")
_PROMISES: dict[Promise, str] = {
    "any number of looks": "hold{s} with probability {chance}, at any number of looks",
    "one look": "hold{s} with probability {chance}, at one look, with the number of rounds fixed in advance",
    "asymptotic": "aim{s} for probability {chance}, only asymptotically",
    "none": "aim{s} for probability {chance}, without a proof",
}


def wrap(text: str) -> str:
    """Text for a terminal of 80 columns: prose is wrapped, tables are as wide as they need to be."""
    wrapped = []
    for line in text.split("\n"):
        fact = FACT.match(line)
        is_prose = fact is not None or not line.startswith("  ") or "  " not in line.strip()
        # Later lines start below the first word, or below the words about a number.
        indent = " " * (fact.end() if fact else len(line) - len(line.lstrip()) + 2)
        if len(line) > WIDTH and is_prose:
            line = fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        wrapped.append(line)
    return "\n".join(wrapped)


def lines(*parts: str | Iterable[str]) -> str:
    """Lines and lists of lines under each other; empty ones are left out.

    >>> lines("head", ["  a", "  b"], "", "end")
    'head\\n  a\\n  b\\nend'
    """
    flat = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return "\n".join(line for line in flat if line)


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as columns: the first aligned left, the others right; of very many, the first."""
    more, rows = len(rows) - 1 - MOST_SHOWN, rows[: MOST_SHOWN + 1]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    cells = [(first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])) for first, *rest in rows]
    return [*(f"  {'  '.join(row)}".rstrip() for row in cells), *([f"  and {more:,} more"] if more > 0 else [])]


def figure_lines(figure: Figure, name: Callable[[str], str] = quoted) -> list[str]:
    """The table of a figure; ``name`` formats its first column."""
    numbers = table(figure.brief())
    rows = aligned([numbers.head, *((name(row[0]), *row[1:]) for row in numbers.rows)])
    return [*rows, f"  {numbers.note}"] if numbers.note else rows


def some(items: Iterable[str], what: str) -> list[str]:
    """The first of very many, and how many more there are; empty ones are left out.

    >>> some(map(str, range(1_050)), "doubts")[-1]
    'and 990 more doubts'
    """
    listed = [item for item in items if item]
    more = len(listed) - MOST_SHOWN
    return listed if more <= 0 else [*listed[:MOST_SHOWN], f"and {more:,} more {what}"]


def doubt_lines(doubts: Iterable[str]) -> list[str]:
    return some((f"Doubt: {doubt}." for doubt in dict.fromkeys(doubts)), "doubts")


def moved_estimate(quantity: str, mean: float, estimate: float, possible: tuple[float, float], mean_weight: float) -> str:
    """A note on an estimate that was moved into its bounds; empty where it is the mean that it came from."""
    low, high = possible
    why = f"the mean weight is {mean_weight:.3g}, not 1; the nearest bound is shown as the estimate"
    if not low <= mean <= high:
        return f"the weighted mean is {mean:.4g}, not a possible {quantity}: it lies outside [{low:g}, {high:g}], and {why}"
    if abs(mean - estimate) > 1e-9 * (high - low):
        return f"the weighted mean is {mean:.4g}, outside the bounds: {why}"
    return ""


def one_holds(promise: Promise, delta: float, method: str = "") -> str:
    """The promise of a single bound.

    >>> one_holds("any number of looks", 0.05, "mixture")
    'holds with probability 0.95, at any number of looks (mixture)'
    """
    return _PROMISES[promise].format(s="s", chance=chance(delta)) + (f" ({method})" if method else "")


def all_hold(promise: Promise, delta: float) -> str:
    return _PROMISES[promise].format(s="", chance=chance(delta))


def certifies(promise: Promise) -> bool:
    return promise in ("any number of looks", "one look")
