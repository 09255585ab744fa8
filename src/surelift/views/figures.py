"""What a result looks like, as plain numbers: drawn by matplotlib and by Vega-Lite, and written as a table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

# Of thousands of policies, as many as one can still read.
MOST_SHOWN = 60


class Figure:
    __slots__ = ()

    @property
    def policies(self) -> list[str]:
        """The policies it shows, in its order; none where its rows are something else, such as segments."""
        return []

    def brief(self) -> Self:
        """The same figure of at most ``MOST_SHOWN`` policies: the best ones by their bounds, else the first."""
        return self


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

    def in_shares(self) -> "Interval":
        """All its numbers, as shares of the largest."""
        ends = {name: end for name in ("estimate", "lower", "upper", "mark") if (end := getattr(self, name)) is not None}
        reach = max(map(abs, ends.values())) or 1.0
        return replace(self, **{name: end / reach for name, end in ends.items()})

    def bound(self, *, cost: bool) -> float:
        """The side that counts, or else the estimate."""
        end = self.upper if cost else self.lower
        return self.estimate if end is None else end


@dataclass(frozen=True, slots=True)
class Intervals(Figure):
    label: str
    rows: tuple[Interval, ...]
    reference: float | None = None
    """The margin every lower bound must exceed."""
    signed: bool = False
    column: str = "policy"
    cost: bool = False
    """Less is better."""
    note: str = ""
    own_units: bool = False
    """Every row has units of its own: then rows share the zero, and no scale."""
    chosen: str | None = None

    @property
    def policies(self) -> list[str]:
        return [row.name for row in self.rows] if self.column == "policy" else []

    def brief(self) -> Self:
        if len(self.rows) <= MOST_SHOWN:
            return self
        best = sorted(self.rows, key=lambda row: row.bound(cost=self.cost), reverse=not self.cost)
        return replace(self, rows=tuple(best[:MOST_SHOWN]), note=left_out(len(self.rows), "best"))

    def on_one_axis(self) -> tuple[Interval, ...]:
        """The rows as they are drawn: where units differ, each in shares of its own largest number."""
        return tuple(row.in_shares() for row in self.rows) if self.own_units else self.rows


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    x: tuple[float, ...]
    lower: tuple[float | None, ...]
    estimate: tuple[float | None, ...]
    upper: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Growing(Figure):
    """Bounds against the number of rounds."""

    label: str
    counted: str
    lines: tuple[Line, ...]
    reference: float | None
    note: str = ""
    reach: tuple[float, float] | None = None
    """The vertical axis, where it is shared with other figures."""

    @property
    def policies(self) -> list[str]:
        return [line.name for line in self.lines]

    def brief(self) -> Self:
        return replace(self, lines=self.lines[:MOST_SHOWN], note=left_out(len(self.lines)) or self.note)


@dataclass(frozen=True, slots=True)
class WeightSize:
    """The rounds whose weight is below a power of two, but not below half of it."""

    below: float
    rounds: float
    """The share of all rounds; ``weight`` is their share of the total weight."""
    weight: float


@dataclass(frozen=True, slots=True)
class WeightHistogram(Figure):
    bars: Mapping[str, tuple[WeightSize, ...]]
    """The bars by policy."""
    note: str = ""
    sizes: tuple[float, ...] = ()
    """The weights below which bars stand, and the largest share, where the axes are shared with other figures."""
    top: float | None = None

    @property
    def policies(self) -> list[str]:
        return list(self.bars)

    @property
    def all_sizes(self) -> tuple[float, ...]:
        return self.sizes or tuple(sorted({bar.below for bars in self.bars.values() for bar in bars}))

    def brief(self) -> Self:
        shown = dict(islice(self.bars.items(), MOST_SHOWN))
        return replace(self, bars=shown, note=left_out(len(self.bars)) or self.note)


@dataclass(frozen=True, slots=True)
class Curve(Figure):
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


@dataclass(frozen=True, slots=True)
class Dot:
    name: str
    method: str
    held: float
    width: float
    certifies: bool


@dataclass(frozen=True, slots=True)
class Dots(Figure):
    """How often each method's bounds held, and how wide they were."""

    rows: tuple[Dot, ...]
    level: float

    @property
    def labels(self) -> list[str]:
        """The methods, each with its policy where there are several."""
        several = len({dot.name for dot in self.rows}) > 1
        return [f"{dot.name}, {dot.method}" if several else dot.method for dot in self.rows]


def left_out(count: int, which: str = "first") -> str:
    """A note on those that are shown; empty where that is all of them.

    >>> left_out(10_000, "best")
    'The best 60 of 10,000; to_dict() has them all.'
    """
    return f"The {which} {MOST_SHOWN} of {count:,}; to_dict() has them all." if count > MOST_SHOWN else ""
