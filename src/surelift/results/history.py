"""How the bounds moved as rounds came in."""

from dataclasses import asdict, dataclass
from typing import Any

from surelift.bounds.bound import Promise
from surelift.results.result import Result


@dataclass(frozen=True, slots=True)
class Point:
    """What the first ``rounds`` rounds of the log say of one policy."""

    policy: str
    rounds: int
    estimate: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, repr=False)
class History(Result):
    """The bounds on each policy after more and more rounds, in the order of the log."""

    points: tuple[Point, ...]
    about: str
    """What is bounded: improvement, value or cost."""
    over: str | None
    margin: float
    delta: float
    counted: str
    """What ``rounds`` counts."""
    promise: Promise
    doubts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "about": self.about, "over": self.over, "margin": self.margin, "delta": self.delta,
            "counted": self.counted, "promise": self.promise, "doubts": list(self.doubts), "points": self.records(),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [asdict(point) for point in self.points]
