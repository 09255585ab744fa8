"""What is each policy worth?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surelift.errors import UsageError
from surelift.policies import Policy
from surelift.quantities import Shortfall, Value
from surelift.questions.assumptions import assumed_of, assumptions_of, doubts_of
from surelift.questions.method import control_of
from surelift.questions.options import refuse_contradiction
from surelift.questions.question import Place, Question, RoundCount
from surelift.results.evaluation import Evaluation, PolicyValue, Sides
from surelift.statistics.plan import MEAN, Request, Term
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums, requests_of


@dataclass(frozen=True, kw_only=True)
class ValueQuestion(Question):
    """m policies and two sides share delta: all bounds hold at once."""

    kind: ClassVar[str] = "evaluate"
    sides: Sides = "both"

    def __post_init__(self) -> None:
        if self.sides not in ("both", "lower", "upper"):
            raise UsageError(f"sides must be 'both', 'lower' or 'upper', but is {self.sides!r}.")

    @property
    def _bounded(self) -> tuple[bool, bool]:
        """From below and from above, as a reward: a lower bound on a cost is an upper bound on its reward."""
        below, above = self.sides in ("both", "lower"), self.sides in ("both", "upper")
        return (above, below) if self.declaration.scale.is_cost else (below, above)

    def _terms(self, name: str, count: RoundCount) -> tuple[Term, Term]:
        """The value, of which at least the mean is needed, and the shortfall where it is bounded above."""
        below, above = self._bounded
        both_from_value = self.method.bound.upper_bound is not None
        value, shortfall = (
            self.method.plan(name, quantity, policies=self.policies, count=count, known=self.known or frozenset())
            for quantity in (Value(), Shortfall())
        )
        return (
            value if below or both_from_value else Term(name, Value()),
            shortfall if above else Term(name, Shortfall()),
        )

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        sides = 2 if self._bounded[1] else 1
        terms = (term for name in self.policies for term in self._terms(name, count)[:sides])
        return requests_of(self.policies, terms, key, self.outcome)

    def result(self, sums: Sums, place: Place) -> Evaluation:
        results = {name: self._value(sums, name, policy, place) for name, policy in self.policies.items()}
        used = {result.control for result in results.values()}
        return Evaluation(
            results, place.delta, sums.units, self.method.name, used.pop() if len(used) == 1 else "mixed", self.sides,
            place.provenance,
        )  # fmt: skip

    def _value(self, sums: Sums, name: str, policy: Policy, place: Place) -> PolicyValue:
        method, (below, above) = self.method, self._bounded
        each = place.delta / (len(self.policies) * (2 if self.sides == "both" else 1))
        value, shortfall = self._terms(name, lambda: sums.units)
        low = method.lower_bound(sums, value, delta=each) if below else None
        high = method.upper_bound(sums, value, shortfall, most=1.0, delta=each) if above else None
        asked = value if value.needed != Term(name, Value()).needed else shortfall
        doubts = (*doubts_of(self.declaration, {name: policy}), *method.doubts(sums, asked, delta=each))
        scale, mean_weight = self.declaration.scale, sums.weights(name).total / sums.units
        if method.believes_contradictions:
            # In the units of the column, where the upper end of a cost is the worse one.
            ends = [scale.value(0.0 if low is None else low), scale.value(1.0 if high is None else high)]
            refuse_contradiction(
                *(reversed(ends) if scale.is_cost else ends), possible=(scale.low, scale.high),
                subject=f"value of {name!r}{place.words}", mean_weight=mean_weight,
            )  # fmt: skip
        if scale.is_cost:
            low, high = high, low
        assumptions = assumptions_of(self.declaration, self.promise, method.assumes(value, shortfall), place.segment)
        return PolicyValue(
            policy=name, estimate=scale.value(sums.of(value).mean(MEAN)), lower=None if low is None else scale.lower(low),
            upper=None if high is None else scale.upper(high), delta=place.delta, rounds=sums.units,
            counted=self.declaration.counted, method=method.name, control=control_of(value, shortfall),
            promise=self.promise, mean_weight=mean_weight, kind="cost" if scale.is_cost else "reward",
            value_range=(scale.low, scale.high), assumptions=(*assumptions, *assumed_of({name: policy}), *doubts),
            doubts=doubts,
        )  # fmt: skip
