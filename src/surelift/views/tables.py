"""The numbers of a picture as a table of texts: bounds rounded away from what they promise."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from surelift.views.numbers import decimals_for, rounded
from surelift.views.pictures import Curve, Dots, Growing, Interval, Intervals, Weights

MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Table:
    """The first column names what the row is about; the names are as they came, and hostile."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@singledispatch
def table(picture: Any) -> Table:
    raise TypeError(f"no table of a {type(picture).__name__}")


@table.register
def _(picture: Intervals) -> Table:
    decimals = max((decimals_of(one) for one in picture.rows), default=4)
    verdicts = any(one.verdict for one in picture.rows)
    rows = tuple(
        (one.name, *interval_cells(one, decimals, sign=picture.signed), *((one.verdict,) if verdicts else ()))
        for one in picture.rows
    )
    return Table((picture.column, "estimate", "at least", "at most", *(("verdict",) if verdicts else ())), rows)


def interval_cells(one: Interval, decimals: int, *, sign: bool) -> tuple[str, str, str]:
    return (
        rounded(one.estimate, decimals, sign=sign),
        "-" if one.lower is None else rounded(one.lower, decimals, towards="down", sign=sign),
        "-" if one.upper is None else rounded(one.upper, decimals, towards="up", sign=sign),
    )


def decimals_of(one: Interval) -> int:
    ends = [end for end in (one.lower, one.upper, one.estimate) if end is not None]
    return decimals_for(max(ends) - min(ends))


@table.register
def _(picture: Growing) -> Table:
    rows = []
    for line in picture.lines:
        places = sorted({round(k * (len(line.x) - 1) / (MOST_ROWS - 1)) for k in range(MOST_ROWS)})
        for place in places:
            low, middle, high = line.lower[place], line.estimate[place], line.upper[place]
            decimals = decimals_for(high - low if low is not None and high is not None else 0.01)
            rows.append(
                (
                    line.name, f"{line.x[place]:,.0f}",
                    "-" if low is None else rounded(low, decimals, towards="down", sign=True),
                    "-" if middle is None else rounded(middle, decimals, sign=True),
                    "-" if high is None else rounded(high, decimals, towards="up", sign=True),
                )
            )  # fmt: skip
    return Table(("policy", picture.counted, "at least", "estimate", "at most"), tuple(rows))


@table.register
def _(picture: Weights) -> Table:
    rows = tuple((bar.name, size_words(bar.below), f"{bar.rounds:.3%}", f"{bar.weight:.3%}") for bar in picture.bars)
    return Table(("policy", "weight", "of the rounds", "of the weight"), rows)


def size_words(below: float) -> str:
    """The range of weights below a power of two.

    >>> size_words(4.0), size_words(0.5), size_words(2.0**-40)
    ('2 to 4', '0.25 to 0.5', '0')
    """
    return "0" if below <= 2.0**-40 else f"{below / 2:.4g} to {below:.4g}"


@table.register
def _(picture: Curve) -> Table:
    step = max(1, -(-len(picture.x) // MOST_ROWS))
    decimals = decimals_for(max(picture.y) - min(picture.y))
    rows = tuple(
        (f"{x:,.6g}", f"{y:.1%}" if picture.percent else rounded(y, decimals, towards="down", sign=True))
        for x, y in list(zip(picture.x, picture.y, strict=True))[::step]
    )
    return Table(picture.columns, rows)


@table.register
def _(picture: Dots) -> Table:
    rows = tuple((one.name, one.method, f"{one.held:.1%}", f"{one.width:.4g}") for one in picture.rows)
    return Table(("policy", "method", "held", "width"), rows)
