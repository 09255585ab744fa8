"""Learned policies: the bound that one carries, and which of many learners found the best one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from surelift.bounds.bound import Promise
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Interval, Intervals
from surelift.views.formats import decimals_for, rounded
from surelift.views.tables import interval_cells
from surelift.views.text import doubt_lines, lines, one_holds


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee(Result):
    """A PAC-Bayes bound on the value of a random policy, or on its improvement over production.

    It is valid for all policies of its kind at once, so also for the learned one.
    """

    policy: str
    about: Literal["value", "improvement"]
    estimate: float
    """The plain mean (IPS), from the same rounds the policy was trained on, so it is optimistic."""
    lower: float | None
    """Holds with probability 1 - delta, for every policy of its kind at once. None for the value of a cost."""
    upper: float | None
    """Set for the value of a cost, which is bounded from above."""
    certified: bool
    """Certified better than production: for an improvement, ``lower`` exceeds 0."""
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

    def sentence(self) -> str:
        if not self.improves:
            _, low, high = interval_cells(self.figure().rows[0], sign=False)
            worth = f"at most {high}" if self.lower is None else f"at least {low}"
            return f"The learned policy is worth {worth} per round."
        if self.certified:
            return "Certified: sampling its actions, the learned policy is better than production."
        return "Not certified: these rounds do not show that the learned policy is better than production. Keep production."

    def text(self) -> str:
        quantity = "Improvement over production" if self.improves else "Value"
        estimate, *ends = interval_cells(self.figure().rows[0], sign=self.improves)
        side, bound = ("upper", ends[1]) if self.lower is None else ("lower", ends[0])
        return lines(
            f"{quantity} of the learned policy, {self.rounds:,} rounds",
            f"  estimate      {estimate}   from the rounds it was trained on",
            f"  {side} bound   {bound}   {one_holds(self.promise, self.delta, self.method)}",
            f"  divergence    {self.divergence:.4g}   from the prior, {self.prior}",
            doubt_lines(self.doubts),
            self.sentence() if self.improves else "",
        )

    def figure(self) -> Intervals:
        row = Interval(self.policy, self.estimate, self.lower, self.upper, certified=self.certified)
        if not self.improves:
            return Intervals("value per round", (row,))
        verdict = "certified" if self.certified else "not certified"
        return Intervals("improvement over production", (replace(row, verdict=verdict),), 0.0, signed=True)


# The learners that are printed.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TriedLearner:
    """What one learner promised on the rounds that choose."""

    name: str
    estimate: float
    """Its policy's improvement on the rounds that choose; optimistic for the one that was chosen."""
    expected_lower: float
    """Its certificate, if the rounds that judge were like those that choose; at delta over the number of learners."""


@dataclass(frozen=True, slots=True, repr=False)
class PolicySearch(Result):
    """The learner that was chosen among many, and its policy's certificate from rounds that chose nothing."""

    chosen: str
    tried: tuple[TriedLearner, ...]
    failed: Mapping[str, str]
    """Learners that could not be trained, by name, with the reason."""
    answer: Improvement
    """The improvement by the policy of the chosen learner: the only certificate that was made."""
    learner: Any = field(metadata=OMITTED, compare=False)
    """The chosen learner; ``learner.policy_`` is the policy."""

    title: ClassVar = "Which learner found the best policy?"
    rows: ClassVar = "tried"

    @property
    def certified(self) -> bool:
        return self.answer.certified

    @property
    def policy(self) -> Any:
        return self.learner.policy_

    def sentence(self) -> str:
        chosen = f"Of {len(self.tried):,} learners {self.chosen!r} was chosen, on rounds that certify nothing."
        return f"{chosen} {self.answer.sentence()}"

    def text(self) -> str:
        best = sorted(self.tried, key=lambda learner: -learner.expected_lower)[:_SHOWN]
        decimals = decimals_for(best[0].estimate - best[0].expected_lower)
        width = max(len(learner.name) for learner in best)
        return lines(
            f"{len(self.tried):,} learners tried; on the rounds that chose: the improvement, and the bound to expect",
            *(
                f"  {learner.name:{width}}  {rounded(learner.estimate, decimals, sign=True)}  "
                f"{rounded(learner.expected_lower, decimals, towards='down', sign=True)}"
                for learner in best
            ),
            f"  and {len(self.tried) - _SHOWN:,} more" if len(self.tried) > _SHOWN else "",
            *(f"  {name} failed: {why}" for name, why in self.failed.items()),
            f"Chosen: {self.chosen}. Certified once, on the rounds after:",
            self.answer.text(),
        )

    def figure(self) -> Intervals:
        return self.answer.figure()

    def parts(self) -> Iterable[Result]:
        return (self.answer,)

    def lead(self) -> tuple[str, ...]:
        return self.answer.lead()
