"""What a learned policy carries: a bound that holds for all policies of its kind at once, so also for the one learned."""

from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.decisions.basis import Basis
from surelift.decisions.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee(Result):
    """A bound on the value of a random policy, or on its improvement over production, by PAC-Bayes."""

    policy: str
    about: Literal["value", "improvement"]
    estimate: float
    """The plain mean (IPS), from the same rounds the policy was learned from: it flatters."""
    lower: float
    """Holds with probability 1 - delta, for every policy of its kind at once; of a cost, it is an upper bound."""
    certified: bool
    """Whether it is surely better than production: for an improvement, whether ``lower`` exceeds 0."""
    delta: float
    rounds: int
    objective: str
    divergence: float
    """KL from the prior: what it costs to have looked at these rounds."""
    prior: str
    promise: Promise
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    basis: Basis = field(compare=False)

    @property
    def method(self) -> str:
        return f"PAC-Bayes, {self.objective}"

    def to_dict(self) -> dict[str, Any]:
        names = (
            "policy", "about", "estimate", "lower", "certified", "delta", "rounds", "objective", "divergence", "prior",
            "promise",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "assumptions": list(self.assumptions), "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        kept = ("policy", "about", "estimate", "lower", "certified", "delta", "rounds", "objective", "divergence")
        return [{name: getattr(self, name) for name in kept}]
