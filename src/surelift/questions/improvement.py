"""Is a policy better than production, or than another, on the same rounds?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.errors import UsageError
from surelift.evidence import p_value
from surelift.logs.declaration import Declaration
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION
from surelift.policies.sequences import over_clusters
from surelift.policies.wrappers import Production
from surelift.quantities import Decline, Difference, Gain, Quantity
from surelift.questions.assumptions import assumed_of, assumptions_of, doubts_of
from surelift.questions.drift import ratio_doubt, ratio_requests
from surelift.questions.method import control_of, least_of
from surelift.questions.options import check_delta, check_margin, consistent
from surelift.questions.question import Place, Question, RoundCount, check_over
from surelift.questions.relative import (
    ADDITIVE,
    MOST_IN_PER_CENT,
    NOT_KEPT,
    STEADY_RATIO,
    Relative,
    RelativeQuestion,
    check_relative_margin,
    no_ratio,
    parse_margin,
    tables_of,
    tabulated,
)
from surelift.results.improvement import Improvement
from surelift.results.lift import ZERO_IS_NONE, Measured
from surelift.statistics.plan import MEAN, Request, Term
from surelift.statistics.splits import Key
from surelift.statistics.sums import Sums, requests_of


@dataclass(frozen=True, kw_only=True)
class ImprovementsQuestion(Question):
    """Several policies, each compared with one other: the base of compare, select and what is made of them."""

    margin_in_per_cent: ClassVar[bool] = False
    """Whether the margin may be a share of the baseline's value."""
    over: tuple[str, Policy] = (PRODUCTION, Production())
    margin: Any = 0.0
    """A number, in the units of the reward; given as per cent, such as ``"2%"``, it becomes the relative margin."""
    relative_margin: float | None = None

    def __post_init__(self) -> None:
        margin, share = parse_margin(self.margin)
        if share is not None:
            object.__setattr__(self, "margin", margin)
            object.__setattr__(self, "relative_margin", share)
        check_delta(self.delta)
        check_margin(self.margin, self.declaration)
        if self.relative_margin is not None:
            if not self.margin_in_per_cent:
                raise UsageError(
                    "a margin in per cent is for compare and gate; give one in the units of the reward, or compare the "
                    "candidates one by one, each at its share of delta."
                )
            check_relative_margin(self.relative_margin, self.declaration, self.method)
            if any(policy.limits.drop > 1.0 for policy in self.everyone.values()):
                raise UsageError(f"margin in per cent: {ADDITIVE}.")
        check_over(self.policies, self.over[0])

    @property
    def in_per_cent(self) -> bool:
        """Whether ratios are bounded too: each candidate has a table of its own, which is too much for very many."""
        return tabulated(self.declaration, self.method) and len(self.policies) <= MOST_IN_PER_CENT

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
            self.method.plan(
                candidate,
                quantity,
                policies=policies,
                count=count,
                known=self.known or frozenset(),
                scored=self.declaration.score is not None,
            )
            for candidate, quantity in sides
        )
        return gain, loss

    def requests(self, count: RoundCount, key: Key = ()) -> Iterator[Request]:
        pairs = [self.terms(name, count) for name in self.policies]
        yield from requests_of(self.everyone, (term for pair in pairs for term in pair), key, self.outcome)
        if self.in_per_cent:
            for gain, loss in pairs:
                if 0.0 < gain.needed.offset <= 1.0:
                    for table in tables_of(gain, loss, self.declaration):
                        yield Request(table, key, self.outcome)
            yield from ratio_requests(self.declaration, key, self.outcome)

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
        relative = RelativeQuestion(gain, loss, self.declaration, method, place.delta)
        ratio = (
            relative.answer(sums, self.relative_margin)
            if self.in_per_cent
            else Relative(note=no_ratio(self.declaration, method))
        )
        if self.relative_margin is None:
            evidence = method.e_value(sums, gain, scale.unit_margin(self.margin), delta=place.delta)
            certified = lower > self.margin and not doubts
        else:
            if ratio.note == NOT_KEPT:
                raise UsageError(
                    f"margin in per cent: {NOT_KEPT}; bring the rows here first, logs.here(), or give the margin in the "
                    "units of the reward."
                )
            evidence = ratio.e_value
            certified = ratio.lower is not None and ratio.lower > self.relative_margin and not doubts
        better = certified and self.relative_margin is None and self.margin == 0.0
        terms_mean = self._terms_mean(sums, gain, loss, low)
        told = ratio.lower is not None or ratio.upper is not None
        doubt = ratio_doubt(self.declaration, sums, share=place.delta / self.delta) if told else ""
        # Also where a database did not keep the table: the same question has the same assumptions everywhere.
        besides = (*method.assumes(gain, loss), *((STEADY_RATIO,) if told or ratio.note == NOT_KEPT else ()))
        if self.relative_margin is not None:
            besides += (ZERO_IS_NONE.format(kind="cost" if scale.is_cost else "reward"),)
        assumptions = assumptions_of(self.declaration, self.promise, besides, self.by)
        return Improvement(
            policy=name, over=over, estimate=scale.improvement(min(max(terms_mean, low), high)), lower=lower,
            upper=scale.improvement(high), terms_mean=scale.improvement(terms_mean), margin=float(self.margin),
            certified=certified, e_value=evidence, p_value=p_value(evidence),
            delta=place.delta, rounds=sums.units, counted=self.declaration.counted, method=method.name,
            control=control_of(gain, loss), promise=self.promise, mean_weight=mean_weight,
            improvement_range=(-most, most), assumptions=(*assumptions, *assumed_of(about), *doubts), doubts=doubts,
            provenance=place.provenance, relative_lower=ratio.lower, relative_upper=ratio.upper,
            relative_margin=self.relative_margin, relative_note=ratio.note, relative_doubt=doubt,
            tipping_factor=relative.tipping_factor(sums) if better else None, measured=measured_in(self.declaration),
        )  # fmt: skip

    def _terms_mean(self, sums: Sums, gain: Term, loss: Term, lower: float) -> float:
        """Of a plain difference that of w r - w' r, so that it is the difference of the two values."""
        mean = self.method.estimate(sums, gain, lower=lower)
        certifies = self.method.bound.certifies
        if isinstance(self.over[1], Production) or not certifies or control_of(gain) != "none":
            return mean
        own, other = (sums.weights(term.candidate).total / sums.units for term in (gain, loss))
        return (mean - sums.of(loss).mean(MEAN) + own - other) / 2.0


def measured_in(declared: Declaration) -> Measured:
    once = declared.cluster is not None and declared.cluster_max is None and not isinstance(declared.cluster_size, int)
    return Measured(str(declared.reward or declared.cost), "cost" if declared.scale.is_cost else "reward", not once)


@dataclass(frozen=True, kw_only=True)
class ImprovementQuestion(ImprovementsQuestion):
    """One policy compared with one other."""

    kind: ClassVar[str] = "compare"
    margin_in_per_cent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.policies) != 1:
            raise UsageError(f"compare takes one policy, but was given {len(self.policies)}; use select for several.")
        super().__post_init__()

    @property
    def policy(self) -> str:
        return next(iter(self.policies))

    def result(self, sums: Sums, place: Place) -> Any:
        return self.improvement(sums, self.policy, place)
