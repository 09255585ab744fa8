"""What is each policy worth?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from surelift.errors import UsageError, printed
from surelift.quantities import Shortfall, Value
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.method import RoundCount, thinned
from surelift.questions.question import Question
from surelift.results.evaluation import Evaluation, PolicyValue, Sides
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ValueQuestion(Question):
    """m policies and two sides share delta: all bounds hold at once."""

    kind: ClassVar[str] = "evaluate"
    sides_together: ClassVar[bool] = True
    sides: Sides = "both"

    def check_fields(self) -> None:
        if self.sides not in ("both", "lower", "upper"):
            raise UsageError(f"sides must be 'both', 'lower' or 'upper', but is {printed(self.sides)}.")

    @property
    def _shown(self) -> tuple[bool, bool]:
        """The sides shown, below and above, as a reward: a lower bound on a cost is an upper bound on its reward."""
        below, above = self.sides in ("both", "lower"), self.sides in ("both", "upper")
        return (above, below) if self.declaration.scale.is_cost else (below, above)

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        return {name: self._claim(name, count) for name in self.policies}

    def _claim(self, name: str, count: RoundCount) -> Claim:
        """A side that is not shown is bounded too, to contradict the other if the logs are wrong."""
        low, high = (self.term(name, quantity, count) for quantity in (Value(), Shortfall()))
        shown = self._shown
        if self.method.believes_contradictions:
            low, high = (end if is_shown else thinned(end) for end, is_shown in zip((low, high), shown, strict=True))
        about = {name: self.policies[name]}
        return Claim(name, low, high, 1.0, about, self.declaration, self.method, shown)

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Evaluation:
        results = {name: self._value(bounded, place) for name, bounded in found.items()}
        used = {result.control for result in results.values()}
        return Evaluation(
            results, place.delta, sums.units, self.method.name, used.pop() if len(used) == 1 else "mixed", self.sides,
            place.provenance,
        )  # fmt: skip

    def _value(self, found: BoundedClaim, place: Place) -> PolicyValue:
        scale = self.declaration.scale
        low, high = (end if is_shown else None for end, is_shown in zip(found.ends, found.claim.shown, strict=True))
        low, high = (high, low) if scale.is_cost else (low, high)
        return PolicyValue(
            policy=found.claim.policy, estimate=scale.value(found.estimate), terms_mean=scale.value(found.terms_mean),
            lower=None if low is None else scale.lower(low), upper=None if high is None else scale.upper(high),
            kind="cost" if scale.is_cost else "reward", value_range=(scale.low, scale.high),
            **{**self.stated(found), "delta": place.delta},
        )  # fmt: skip
