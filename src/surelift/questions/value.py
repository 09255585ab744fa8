"""What is each policy worth?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from surelift.errors import UsageError
from surelift.policies import Policy
from surelift.policies.sequences import over_clusters
from surelift.quantities import Shortfall, Value
from surelift.questions.assumptions import assumed_of, assumptions_of, doubts_of
from surelift.questions.method import control_of, thinned
from surelift.questions.options import consistent
from surelift.questions.question import Place, Question, RoundCount
from surelift.results.evaluation import Evaluation, PolicyValue, Sides
from surelift.statistics.plan import Request, Term
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

    def _terms(self, name: str, count: RoundCount) -> tuple[Term, ...]:
        """The value and the shortfall: a side that is not shown is made too, to contradict the other if logs are wrong."""
        policies = over_clusters({name: self.policies[name]}, self.declaration)
        value, shortfall = (
            self.method.plan(
                name,
                quantity,
                policies=policies,
                count=count,
                known=self.known or frozenset(),
                scored=self.declaration.score is not None,
            )
            for quantity in (Value(), Shortfall())
        )
        if not self.method.believes_contradictions:
            return (value,)  # both sides are made from it
        below, above = self._bounded
        return value if below else thinned(value), shortfall if above else thinned(shortfall)

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        terms = (term for name in self.policies for term in self._terms(name, count))
        return requests_of(self.policies, terms, key, self.outcome)

    def result(self, sums: Sums, place: Place) -> Evaluation:
        results = {name: self._value(sums, name, policy, place) for name, policy in self.policies.items()}
        used = {result.control for result in results.values()}
        return Evaluation(
            results, place.delta, sums.units, self.method.name, used.pop() if len(used) == 1 else "mixed", self.sides,
            place.provenance,
        )  # fmt: skip

    def _value(self, sums: Sums, name: str, policy: Policy, place: Place) -> PolicyValue:
        method, scale, shown = self.method, self.declaration.scale, self._bounded
        each, mean_weight = place.delta / len(self.policies), sums.weights(name).total / sums.units
        terms = self._terms(name, lambda: sums.units)
        # Alone, a side has delta for itself. Contradictions are judged by both sides at half of it.
        half = each / 2.0
        own = half if self.sides == "both" else each
        deltas = [tuple(own if is_shown else half for is_shown in shown), (half, half)]
        pairs = (
            (method.lower_bound(sums, terms[0], delta=one), method.upper_bound(sums, *terms, most=1.0, delta=other))
            for one, other in deltas
        )
        if method.believes_contradictions:
            bounds = consistent(
                pairs, possible=(0.0, 1.0), subject=f"value of {name!r}{place.words}", mean_weight=mean_weight,
                in_units=lambda *ends: tuple(map(scale.value, reversed(ends) if scale.is_cost else ends)),
            )  # fmt: skip
        else:
            bounds = next(pairs)
        low, high = (bound if is_shown else None for bound, is_shown in zip(bounds, shown, strict=True))
        asked = terms[0] if shown[0] else terms[-1]
        doubts = (*doubts_of(self.declaration, {name: policy}), *method.doubts(sums, asked, delta=own))
        if shown[0] or control_of(asked) == "none":
            terms_mean = method.estimate(sums, terms[0], lower=bounds[0])
        else:
            terms_mean = 1.0 - method.estimate(sums, asked, lower=1.0 - bounds[1])
        if scale.is_cost:
            low, high = high, low
        assumptions = assumptions_of(self.declaration, self.promise, method.assumes(*terms), self.by)
        return PolicyValue(
            policy=name, estimate=scale.value(min(max(terms_mean, bounds[0]), bounds[1])),
            terms_mean=scale.value(terms_mean), lower=None if low is None else scale.lower(low),
            upper=None if high is None else scale.upper(high), delta=place.delta, rounds=sums.units,
            counted=self.declaration.counted, method=method.name, control=control_of(*terms),
            promise=self.promise, mean_weight=mean_weight, kind="cost" if scale.is_cost else "reward",
            value_range=(scale.low, scale.high), assumptions=(*assumptions, *assumed_of({name: policy}), *doubts),
            doubts=doubts,
        )  # fmt: skip
