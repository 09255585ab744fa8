"""The numbers of a figure as a table of text, with lower bounds rounded down and upper bounds up."""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import singledispatch
from typing import Any

from surelift.views.figures import MOST_SHOWN, Curve, Dots, Growing, Interval, Intervals, WeightHistogram, left_out
from surelift.views.formats import decimals_for, plain, rounded

MOST_ROWS = 12
Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The first column says what the row is about; names are as they came, not yet safe to display."""

    head: Cells
    rows: tuple[Cells, ...]
    note: str = ""
    fold: bool = False
    """A page shows only its note at first."""

    def brief(self) -> "Table":
        """At most ``MOST_SHOWN`` rows, and a note of how many there are."""
        return replace(self, rows=self.rows[:MOST_SHOWN], note=left_out(len(self.rows)) or self.note)


@singledispatch
def table(figure: Any) -> Table:
    raise TypeError(f"a {type(figure).__name__} has no table")


@table.register
def _(figure: Intervals) -> Table:
    decimals = None if figure.own_units else max(map(_decimals_of, figure.rows), default=4)
    head, rows = [figure.column, "estimate", "at least", "at most"], []
    if any(row.verdict for row in figure.rows):
        head.append("verdict")
    for row in figure.rows:
        cells = interval_cells(row, decimals, sign=figure.signed, reference=figure.reference)
        rows.append((row.name, *cells, row.verdict)[: len(head)])
    return Table(tuple(head), tuple(rows), figure.note)


def interval_cells(row: Interval, decimals: int | None = None, *, sign: bool, reference: float | None = None) -> Cells:
    """The estimate and the bounds; "> 0" for a lower bound that is certified to exceed 0, and would be rounded to it."""
    digits = _decimals_of(row) if decimals is None else decimals
    lower = _cell(row.lower, digits, "down", sign=sign)
    if row.certified and row.lower is not None and reference is not None and row.lower >= reference:
        lower = lower if Decimal(lower.replace(",", "")) > Decimal(reference) else f"> {plain(reference)}"
    return _cell(row.estimate, digits, sign=sign), lower, _cell(row.upper, digits, "up", sign=sign)


def _cell(number: float | None, decimals: int, towards: str = "nearest", *, sign: bool = True) -> str:
    return "-" if number is None else rounded(number, decimals, towards=towards, sign=sign)


def _decimals_of(interval: Interval) -> int:
    ends = [end for end in (interval.lower, interval.upper, interval.estimate) if end is not None]
    return decimals_for(max(ends) - min(ends))


@table.register
def _(figure: Growing) -> Table:
    rows = []
    for line in figure.lines:
        for index in sorted({round(k * (len(line.x) - 1) / (MOST_ROWS - 1)) for k in range(MOST_ROWS)}):
            low, middle, high = line.lower[index], line.estimate[index], line.upper[index]
            digits = decimals_for(high - low if low is not None and high is not None else 0.01)
            bounds = _cell(low, digits, "down"), _cell(middle, digits), _cell(high, digits, "up")
            rows.append((line.name, f"{line.x[index]:,.0f}", *bounds))
    return Table(("policy", figure.counted, "at least", "estimate", "at most"), tuple(rows), figure.note)


@table.register
def _(figure: WeightHistogram) -> Table:
    rows = tuple(
        (name, weight_range(bar.below), f"{100.0 * bar.rounds:.3g}%", f"{100.0 * bar.weight:.3g}%")
        for name, bars in figure.bars.items()
        for bar in bars
    )
    return Table(("policy", "weight", "share of rounds", "share of weight"), rows, figure.note)


def weight_range(below: float) -> str:
    """The range of weights below a power of two.

    >>> weight_range(4.0), weight_range(0.5), weight_range(2.0**-40)
    ('2 to 4', '0.25 to 0.5', '0')
    """
    return "0" if below <= 2.0**-40 else f"{below / 2:.4g} to {below:.4g}"


@table.register
def _(figure: Curve) -> Table:
    step = max(1, -(-len(figure.x) // MOST_ROWS))
    decimals = decimals_for(max(figure.y) - min(figure.y))
    rows = tuple(
        (f"{x:,.6g}", f"{y:.1%}" if figure.percent else rounded(y, decimals, towards="down", sign=True))
        for x, y in list(zip(figure.x, figure.y, strict=True))[::step]
    )
    return Table(figure.columns, rows)


@table.register
def _(figure: Dots) -> Table:
    rows = tuple((dot.name, dot.method, f"{dot.held:.1%}", f"{dot.width:.4g}") for dot in figure.rows)
    return Table(("policy", "method", "held", "width"), rows)
