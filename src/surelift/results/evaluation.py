"""An answer to "what is each policy worth?"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import ByName, Result

Sides = Literal["both", "lower", "upper"]


@dataclass(frozen=True, slots=True, repr=False)
class PolicyValue(Result):
    """The value of one policy, in the units of the reward (or cost) column."""

    policy: str
    estimate: float
    """The plain importance-weighted mean; it may lie outside the range, and then says little."""
    lower: float | None
    """None where only the other side was asked for."""
    upper: float | None
    delta: float
    """The chance that any bound of the whole evaluation fails."""
    rounds: int
    counted: Literal["rounds", "clusters"]
    """What ``rounds`` counts."""
    method: str
    control: str
    promise: Promise
    """Whether it holds at any number of looks, at one look, only asymptotically, or not rigorously at all."""
    mean_weight: float
    kind: Literal["reward", "cost"]
    """Of a cost, less is better."""
    value_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "estimate": self.estimate, "lower": self.lower, "upper": self.upper,
            "delta": self.delta, "rounds": self.rounds,
            "counted": self.counted, "method": self.method, "control": self.control,
            "promise": self.promise, "mean_weight": self.mean_weight, "kind": self.kind,
            "value_range": list(self.value_range), "assumptions": list(self.assumptions), "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        names = ("policy", "estimate", "lower", "upper", "delta", "rounds", "method", "control")
        return [{name: self.to_dict()[name] for name in names}]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(ByName[PolicyValue]):
    """The values of several policies, whose bounds hold all at once with probability 1 - delta."""

    results: Mapping[str, PolicyValue]
    delta: float
    rounds: int
    method: str
    control: str
    sides: Sides
    basis: Provenance = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "delta": self.delta, "rounds": self.rounds, "method": self.method,
            "control": self.control, "sides": self.sides,
            "policies": {name: result.to_dict() for name, result in self.results.items()},
        }  # fmt: skip
