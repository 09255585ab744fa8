"""An answer to "is it better, and by how much?"."""

from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Improvement(Result):
    """How much better one policy is than another, in the units of the reward (or cost) column; positive is better."""

    policy: str
    over: str
    estimate: float
    lower: float
    """Holds with probability 1 - delta."""
    upper: float
    """Holds with probability 1 - delta, on its own."""
    margin: float
    certified: bool
    """Whether ``lower`` exceeds ``margin``, from logs without a doubt."""
    e_value: float
    """Evidence against "the improvement is at most the margin"; 1/delta certifies."""
    p_value: float
    delta: float
    rounds: int
    counted: Literal["rounds", "clusters"]
    """What ``rounds`` counts."""
    method: str
    control: str
    promise: Promise
    """Whether it holds at any number of looks, at one look, or only asymptotically."""
    mean_weight: float
    improvement_range: tuple[float, float]
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    basis: Provenance = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "over": self.over, "estimate": self.estimate,
            "lower": self.lower, "upper": self.upper, "margin": self.margin, "certified": self.certified,
            "e_value": self.e_value, "p_value": self.p_value, "delta": self.delta, "rounds": self.rounds,
            "counted": self.counted,
            "method": self.method, "control": self.control, "promise": self.promise, "mean_weight": self.mean_weight,
            "improvement_range": list(self.improvement_range), "assumptions": list(self.assumptions),
            "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        names = (
            "policy", "over", "estimate", "lower", "upper", "margin", "certified", "e_value", "p_value", "delta",
            "rounds", "method", "control",
        )  # fmt: skip
        return [{name: self.to_dict()[name] for name in names}]
