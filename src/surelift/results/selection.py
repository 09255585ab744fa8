"""Which of several policies should replace production, if any?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import Result

Many = Literal["simultaneous", "e-bh"]


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Result):
    """The policy with the largest certified improvement, or None: keep production."""

    chosen: str | None
    """Never set where ``many`` is "e-bh": a false discovery rate is no promise about any one of them."""
    discoveries: tuple[str, ...]
    """The policies found to be better: certified all at once, or with a false discovery rate of at most delta."""
    over: str
    many: Many
    improvements: Mapping[str, Improvement]
    """By name; each is bounded at delta divided by their number, so that all lower bounds hold at once."""
    delta: float
    """The chance that any bound fails; under "e-bh" also the expected share of false ones among the discoveries."""
    margin: float
    rounds: int
    method: str
    control: str
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    basis: Provenance = field(compare=False)

    @property
    def certified(self) -> bool:
        return self.chosen is not None

    def __getitem__(self, policy: str) -> Improvement:
        return self.improvements[policy]

    def to_dict(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen, "discoveries": list(self.discoveries), "over": self.over, "many": self.many,
            "certified": self.certified, "delta": self.delta, "margin": self.margin, "rounds": self.rounds,
            "method": self.method, "control": self.control, "assumptions": list(self.assumptions),
            "doubts": list(self.doubts),
            "improvements": {name: result.to_dict() for name, result in self.improvements.items()},
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                **record,
                "discovered": record["policy"] in self.discoveries,
                "chosen": record["policy"] == self.chosen,
            }
            for result in self.improvements.values()
            for record in result.records()
        ]
