"""The bound that a learned policy carries: valid for all policies of its kind at once, so also for the learned one."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.provenance import Provenance
from surelift.results.result import Result
from surelift.views.figures import Interval, Intervals
from surelift.views.numbers import decimals_for, rounded
from surelift.views.text import doubt_lines, lines, one_holds


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee(Result):
    """A PAC-Bayes bound on the value of a random policy, or on its improvement over production."""

    policy: str
    about: Literal["value", "improvement"]
    estimate: float
    """The plain mean (IPS), from the same rounds the policy was trained on, so it is optimistic."""
    lower: float | None
    """Holds with probability 1 - delta, for every policy of its kind at once. None for the value of a cost."""
    upper: float | None
    """The same for the value of a cost, which is bounded from above."""
    certified: bool
    """Whether it is certified better than production: for an improvement, whether ``lower`` exceeds 0."""
    delta: float
    rounds: int
    objective: str
    divergence: float
    """KL divergence from the prior: the price of having trained on these rounds."""
    prior: str
    promise: Promise
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    provenance: Provenance = field(compare=False)

    title: ClassVar = "The learned policy"
    columns: ClassVar = (
        "policy", "about", "estimate", "lower", "upper", "certified", "delta", "rounds", "objective", "divergence",
    )  # fmt: skip

    @property
    def method(self) -> str:
        return f"PAC-Bayes, {self.objective}"

    @property
    def improves(self) -> bool:
        return self.about == "improvement"

    @property
    def bound(self) -> float:
        """The only side that is bounded: the lower, or for the value of a cost the upper."""
        bound = self.upper if self.lower is None else self.lower
        assert bound is not None
        return bound

    def _rounded(self, number: float, towards: str = "nearest") -> str:
        decimals = decimals_for(abs(self.bound - self.estimate))
        return rounded(number, decimals, towards=towards, sign=self.improves)

    def _rounded_bound(self) -> str:
        return self._rounded(self.bound, "up" if self.lower is None else "down")

    def sentence(self) -> str:
        if not self.improves:
            side = "at most" if self.lower is None else "at least"
            return f"The learned policy is worth {side} {self._rounded_bound()} per round."
        if self.certified:
            return "Certified: sampling its actions, the learned policy is better than production."
        return "Not certified: these rounds do not show that the learned policy is better than production. Keep production."

    def text(self) -> str:
        quantity = "Improvement over production" if self.improves else "Value"
        side = "upper" if self.lower is None else "lower"
        return lines(
            f"{quantity} of the learned policy, {self.rounds:,} rounds",
            f"  estimate      {self._rounded(self.estimate)}   from the rounds it was trained on",
            f"  {side} bound   {self._rounded_bound()}   {one_holds(self.promise, self.delta, self.method)}",
            f"  divergence    {self.divergence:.4g}   from the prior, {self.prior}",
            doubt_lines(self.doubts),
            self.sentence() if self.improves else "",
        )

    def figure(self) -> Intervals:
        verdict = ("certified" if self.certified else "not certified") if self.improves else ""
        row = Interval(self.policy, self.estimate, self.lower, self.upper, verdict, self.certified)
        label = "improvement over production" if self.improves else "value per round"
        return Intervals(label, (row,), 0.0 if self.improves else None, signed=self.improves)
