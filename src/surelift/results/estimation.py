"""Point estimates, without a guarantee."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surelift.results.result import ByName, Result


@dataclass(frozen=True, slots=True, repr=False)
class PolicyEstimate(Result):
    """A point estimate of one policy's value, in the units of the reward (or cost) column."""

    policy: str
    estimate: float
    estimator: str
    parameter: Mapping[str, float]
    """The hyper-parameter used, by name."""
    model: Mapping[str, Any] | None
    """The reward model that was asked, where one was."""
    rounds: int
    mean_weight: float
    plug_ins: Mapping[str, float]
    """For logarithmic smoothing, the paper's expectations with sample means put in, on rewards scaled to [0, 1]."""
    doubts: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "estimate": self.estimate, "estimator": self.estimator,
            "parameter": dict(self.parameter), "model": None if self.model is None else dict(self.model),
            "rounds": self.rounds, "mean_weight": self.mean_weight, "plug_ins": dict(self.plug_ins),
            "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return [{name: self.to_dict()[name] for name in ("policy", "estimate", "estimator", "rounds", "mean_weight")}]


@dataclass(frozen=True, slots=True, repr=False)
class Estimation(ByName[PolicyEstimate]):
    """Point estimates of several policies, by name."""

    results: Mapping[str, PolicyEstimate]
    estimator: str
    rounds: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimator": self.estimator, "rounds": self.rounds,
            "policies": {name: result.to_dict() for name, result in self.results.items()},
        }  # fmt: skip
