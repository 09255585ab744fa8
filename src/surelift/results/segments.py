"""The same question of every segment of a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from surelift.results.provenance import Provenance
from surelift.results.result import ByName, Result

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True, repr=False)
class Segments(ByName[R], Generic[R]):
    """The answers for each segment, by its name; all hold at once, each at delta divided by their number."""

    results: Mapping[str, R]
    by: str
    """The column of segments."""
    delta: float
    rounds: int
    basis: Provenance = field(compare=False)

    @property
    def certified(self) -> tuple[str, ...]:
        """The segments whose improvement is certified."""
        return tuple(name for name, result in self.results.items() if getattr(result, "certified", False))

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by, "delta": self.delta, "rounds": self.rounds,
            "segments": {name: result.to_dict() for name, result in self.results.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{self.by: name, **record} for name, result in self.results.items() for record in result.records()]
