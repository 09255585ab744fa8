"""What a result looks like, as plain numbers: drawn by matplotlib and by Vega-Lite, and written as a table."""

from dataclasses import dataclass


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
