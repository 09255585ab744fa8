"""What a result looks like, as plain numbers: drawn by matplotlib and by Vega-Lite, and written as a table."""

from dataclasses import dataclass, replace
from typing import Any

# Of thousands of policies, as many as one can still read.
MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate between its bounds; None where a side was not bounded."""

    name: str
    estimate: float
    lower: float | None
    upper: float | None
    verdict: str = ""
    certified: bool = False
    mark: float | None = None
    """The margin its lower bound must exceed, where margins differ between rows."""


@dataclass(frozen=True, slots=True)
class Intervals:
    label: str
    rows: tuple[Interval, ...]
    reference: float | None = None
    """The margin every lower bound must exceed."""
    signed: bool = False
    column: str = "policy"
    cost: bool = False
    """Whether less is better."""
    note: str = ""
    """What was left out."""
    own_units: bool = False
    """Whether every row has units of its own: then rows share the zero, and no scale."""
    chosen: str | None = None
    """The policy that was chosen among the rows."""

    def on_one_axis(self) -> "tuple[Interval, ...]":
        """The rows as they are drawn: where units differ, each in shares of its own largest number."""
        return tuple(map(_in_shares, self.rows)) if self.own_units else self.rows


def _in_shares(row: Interval) -> Interval:
    reach = max(abs(end) for end in (row.estimate, row.lower, row.upper, row.mark) if end is not None) or 1.0
    lower, upper, mark = (None if end is None else end / reach for end in (row.lower, row.upper, row.mark))
    return replace(row, estimate=row.estimate / reach, lower=lower, upper=upper, mark=mark)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    x: tuple[float, ...]
    lower: tuple[float | None, ...]
    estimate: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Growing:
    """Bounds against the number of rounds."""

    label: str
    counted: str
    lines: tuple[Line, ...]
    reference: float | None
    note: str = ""
    reach: tuple[float, float] | None = None
    """What the vertical axis shows, where it is shared with other figures."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The importance weights of one policy between ``below / 2`` and ``below``."""

    name: str
    below: float
    rounds: float
    """The share of the rounds that have such a weight."""
    weight: float
    """The share of the total weight that these rounds carry."""


@dataclass(frozen=True, slots=True)
class WeightHistogram:
    bars: tuple[Bar, ...]
    note: str = ""
    sizes: tuple[float, ...] = ()
    """The weights below which bars stand, and the largest share, where the axes are shared with other figures."""
    top: float | None = None

    @property
    def all_sizes(self) -> tuple[float, ...]:
        return self.sizes or tuple(sorted({bar.below for bar in self.bars}))


@dataclass(frozen=True, slots=True)
class Curve:
    """A line over a logarithmic axis, with a level to reach and a point to mark."""

    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    level: float
    level_name: str
    mark: float | None = None
    mark_name: str = ""
    percent: bool = False
    columns: tuple[str, str] = ("rounds", "probability")
    """The table's headings for x and y."""


@dataclass(frozen=True, slots=True)
class Dot:
    name: str
    method: str
    held: float
    width: float
    certifies: bool


@dataclass(frozen=True, slots=True)
class Dots:
    """How often each method's bounds held, and how wide they were."""

    rows: tuple[Dot, ...]
    level: float


Figure = Intervals | Growing | WeightHistogram | Curve | Dots


def brief(figure: Any) -> Any:
    """The same figure of at most ``MOST_SHOWN`` policies: the best ones by their bounds, else the first."""

    def bound(row: Interval) -> float:
        end = row.upper if figure.cost else row.lower
        return row.estimate if end is None else end

    if isinstance(figure, Intervals) and len(figure.rows) > MOST_SHOWN:
        best = sorted(figure.rows, key=bound, reverse=not figure.cost)
        return replace(figure, rows=tuple(best[:MOST_SHOWN]), note=left_out("best", len(best)))
    if isinstance(figure, Growing) and len(figure.lines) > MOST_SHOWN:
        return replace(figure, lines=figure.lines[:MOST_SHOWN], note=left_out("first", len(figure.lines)))
    if isinstance(figure, WeightHistogram):
        names = list(dict.fromkeys(bar.name for bar in figure.bars))
        if len(names) > MOST_SHOWN:
            first = set(names[:MOST_SHOWN])
            bars = tuple(bar for bar in figure.bars if bar.name in first)
            return WeightHistogram(bars, left_out("first", len(names)))
    return figure


def left_out(which: str, of: int) -> str:
    """
    >>> left_out("best", 10_000)
    'The best 60 of 10,000; to_dict() has them all.'
    """
    return f"The {which} {MOST_SHOWN} of {of:,}; to_dict() has them all."
