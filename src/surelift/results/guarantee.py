"""What a learned policy carries: a bound that holds for all policies of its kind at once, so also for the one learned."""

from dataclasses import dataclass, field
from typing import Any, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee(Result):
    """A bound on the value of a random policy, or on its improvement over production, by PAC-Bayes."""

    policy: str
    about: Literal["value", "improvement"]
    estimate: float
    """The plain mean (IPS), from the same rounds the policy was learned from: it flatters."""
    lower: float | None
    """Holds with probability 1 - delta, for every policy of its kind at once. None for the value of a cost."""
    upper: float | None
    """The same for the value of a cost, which is bounded from above."""
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
    basis: Provenance = field(compare=False)

    @property
    def method(self) -> str:
        return f"PAC-Bayes, {self.objective}"

    def to_dict(self) -> dict[str, Any]:
        names = (
            "policy", "about", "estimate", "lower", "upper", "certified", "delta", "rounds", "objective", "divergence",
            "prior", "promise",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "assumptions": list(self.assumptions), "doubts": list(self.doubts),
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        left_out = ("prior", "promise", "assumptions", "doubts")
        return [{name: value for name, value in self.to_dict().items() if name not in left_out}]
