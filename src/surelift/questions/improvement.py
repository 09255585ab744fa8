"""Is a policy better than production, or than another, on the same rounds?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.errors import UsageError
from surelift.evidence import p_value
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION
from surelift.policies.sequences import over_clusters
from surelift.policies.wrappers import Production
from surelift.quantities import Decline, Difference, Gain, Quantity
from surelift.questions.assumptions import assumed_of, assumptions_of, doubts_of
from surelift.questions.method import control_of, least_of
from surelift.questions.options import check_delta, check_margin, consistent
from surelift.questions.question import Place, Question, RoundCount, check_over
from surelift.results.improvement import Improvement
from surelift.statistics.plan import MEAN, Request, Term
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums, requests_of


@dataclass(frozen=True, kw_only=True)
class ImprovementsQuestion(Question):
    """Several policies, each compared with one other: the base of compare, select and what is made of them."""

    over: tuple[str, Policy] = (PRODUCTION, Production())
    margin: float = 0.0

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_margin(self.margin)
        check_over(self.policies, self.over[0])

    @property
    def everyone(self) -> Mapping[str, Policy]:
        name, baseline = self.over
        return self.policies if isinstance(baseline, Production) else {**self.policies, name: baseline}

    def terms(self, name: str, count: RoundCount) -> tuple[Term, Term]:
        """What bounds the improvement from below, and what bounds it from above."""
        other, baseline = self.over
        sides: tuple[tuple[str, Quantity], tuple[str, Quantity]] = (
            ((name, Gain()), (name, Decline()))
            if isinstance(baseline, Production)
            else ((name, Difference(other)), (other, Difference(name)))
        )
        # Of the two alone: a plan for each of many candidates must not look through them all.
        policies = over_clusters({name: self.policies[name], other: baseline}, self.declaration)
        gain, loss = (
            self.method.plan(candidate, quantity, policies=policies, count=count, known=self.known or frozenset())
            for candidate, quantity in sides
        )
        return gain, loss

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        terms = (term for name in self.policies for term in self.terms(name, count))
        return requests_of(self.everyone, terms, key, self.outcome)

    def improvements(self, sums: Sums, place: Place) -> dict[str, Improvement]:
        """Each bound made at the level of the place."""
        return {name: self.improvement(sums, name, place) for name in self.policies}

    def improvement(self, sums: Sums, name: str, place: Place) -> Improvement:
        method, scale = self.method, self.declaration.scale
        gain, loss = self.terms(name, lambda: place.planned or sums.units)
        mean_weight = sums.weights(name).total / sums.units
        most = -least_of(gain)
        # One-sided bounds may both fail: where they contradict each other at delta, they are held to half of it each.
        pairs = (
            (method.lower_bound(sums, gain, delta=each), method.upper_bound(sums, gain, loss, most=0.0, delta=each))
            for each in (place.delta, place.delta / 2.0)
        )
        if method.believes_contradictions:
            low, high = consistent(
                pairs, possible=(-most, most), subject=f"improvement of {name!r}{place.words}", mean_weight=mean_weight,
                in_units=lambda low, high: (scale.improvement(low), scale.improvement(high)),
            )  # fmt: skip
        else:
            low, high = next(pairs)
        most = scale.improvement(most)
        over, baseline = self.over
        about = {name: self.policies[name], over: baseline}
        lower = scale.improvement(low)
        doubts = (*doubts_of(self.declaration, about), *method.doubts(sums, gain, delta=place.delta))
        evidence = method.e_value(sums, gain, scale.unit_margin(self.margin), delta=place.delta)
        terms_mean = self._terms_mean(sums, gain, loss, low)
        assumptions = assumptions_of(self.declaration, self.promise, method.assumes(gain, loss), place.segment)
        return Improvement(
            policy=name, over=over, estimate=scale.improvement(min(max(terms_mean, low), high)), lower=lower,
            upper=scale.improvement(high), terms_mean=scale.improvement(terms_mean), margin=float(self.margin),
            certified=lower > self.margin and not doubts, e_value=evidence, p_value=p_value(evidence),
            delta=place.delta, rounds=sums.units, counted=self.declaration.counted, method=method.name,
            control=control_of(gain, loss), promise=self.promise, mean_weight=mean_weight,
            improvement_range=(-most, most), assumptions=(*assumptions, *assumed_of(about), *doubts), doubts=doubts,
            provenance=place.provenance,
        )  # fmt: skip

    def _terms_mean(self, sums: Sums, gain: Term, loss: Term, lower: float) -> float:
        """Of a plain difference that of w r - w' r, so that it is the difference of the two values."""
        mean = self.method.estimate(sums, gain, lower=lower)
        certifies = self.method.bound.certifies
        if isinstance(self.over[1], Production) or not certifies or control_of(gain) != "none":
            return mean
        own, other = (sums.weights(term.candidate).total / sums.units for term in (gain, loss))
        return (mean - sums.of(loss).mean(MEAN) + own - other) / 2.0


@dataclass(frozen=True, kw_only=True)
class ImprovementQuestion(ImprovementsQuestion):
    """One policy compared with one other."""

    kind: ClassVar[str] = "compare"

    def __post_init__(self) -> None:
        if len(self.policies) != 1:
            raise UsageError(f"compare takes one policy, but was given {len(self.policies)}; use select for several.")
        super().__post_init__()

    @property
    def policy(self) -> str:
        return next(iter(self.policies))

    def result(self, sums: Sums, place: Place) -> Any:
        return self.improvement(sums, self.policy, place)
