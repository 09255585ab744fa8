"""Which of many learners found the best policy?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from surelift.results.improvement import Improvement
from surelift.results.result import OMITTED, Result
from surelift.views.figures import Intervals
from surelift.views.formats import decimals_for, rounded
from surelift.views.text import lines

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
    """About the policy of the chosen learner: the only certificate that was made."""
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
