"""Is a policy better than production, or than another, on the same rounds?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from surelift.errors import UsageError, printed
from surelift.evidence import p_value
from surelift.policies import Policy
from surelift.policies.resolve import PRODUCTION
from surelift.policies.wrappers import Production
from surelift.quantities import Decline, Difference, Gain, Quantity
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.counts import RoundCount
from surelift.questions.drift import ratio_doubt
from surelift.questions.options import check_margin
from surelift.questions.question import Question
from surelift.questions.relative import (
    IN_PER_CENT,
    MOST_IN_PER_CENT,
    NOT_KEPT,
    STEADY_RATIO,
    TIPPING_FACTOR,
    check_relative_margin,
    lacking,
    parse_margin,
)
from surelift.results.improvement import Improvement
from surelift.results.lift import ZERO_IS_NONE
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ImprovementsQuestion(Question):
    """Several policies, each compared with one other: the base of compare, select and what is made of them."""

    over: tuple[str, Policy] = (PRODUCTION, Production())
    margin: Any = 0.0
    """A number, in the units of the reward; given as per cent, such as ``"2%"``, it becomes the relative margin."""
    relative_margin: float | None = None

    def check_fields(self) -> None:
        margin, share = parse_margin(self.margin)
        if share is not None:
            object.__setattr__(self, "margin", margin)
            object.__setattr__(self, "relative_margin", share)
        check_margin(self.margin, self.declaration)
        _check_over(self.over, self.policies)
        if self.relative_margin is not None:
            check_relative_margin(self.relative_margin, is_cost=self.declaration.scale.is_cost)

    @property
    def own_features(self) -> frozenset[str]:
        said = {
            "improvement": True, "many candidates": len(self.policies) > MOST_IN_PER_CENT,
            **dict.fromkeys(("margin in per cent", IN_PER_CENT), self.relative_margin is not None),
        }  # fmt: skip
        return super().own_features.union(name for name, is_so in said.items() if is_so)

    @property
    def everyone(self) -> Mapping[str, Policy]:
        name, baseline = self.over
        return self.policies if isinstance(baseline, Production) else {**self.policies, name: baseline}

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        return {name: self.claim(name, count) for name in self.policies}

    def claim(self, name: str, count: RoundCount) -> Claim:
        """The improvement of one policy."""
        other, baseline = self.over
        sides: tuple[tuple[str, Quantity], tuple[str, Quantity]] = (
            ((name, Gain()), (name, Decline()))
            if isinstance(baseline, Production)
            else ((name, Difference(other)), (other, Difference(name)))
        )
        gain, loss = (self.term(candidate, quantity, count) for candidate, quantity in sides)
        about = {name: self.policies[name], other: baseline}
        return Claim(
            name,
            gain,
            loss,
            0.0,
            about,
            self.declaration,
            self.method,
            no_ratio=lacking(IN_PER_CENT, self.features),
            no_factor=lacking(TIPPING_FACTOR, self.features),
        )

    def improvements(self, found: Mapping[str, BoundedClaim]) -> dict[str, Improvement]:
        return {name: self.improvement(bounded) for name, bounded in found.items()}

    def improvement(self, found: BoundedClaim) -> Improvement:
        """From its claim, bounded."""
        claim, scale, share = found.claim, found.claim.scale, self.relative_margin
        low, high = map(scale.improvement, found.ends)
        ratio = found.relative(share)
        told = ratio.lower is not None or ratio.upper is not None
        # Also where a database did not keep the table: the same question has the same assumptions everywhere.
        besides: tuple[str, ...] = (STEADY_RATIO,) if told or ratio.note == NOT_KEPT else ()
        if share is not None:
            besides += (ZERO_IS_NONE.format(kind="cost" if scale.is_cost else "reward"),)
        stated = self.stated(found, *besides)
        if share is not None and ratio.note == NOT_KEPT:
            raise UsageError(
                f"margin in per cent: {NOT_KEPT}; bring the rows here first, logs.here(), or give the margin in the units "
                "of the reward."
            )
        exceeds = low > self.margin if share is None else ratio.lower is not None and ratio.lower > share
        evidence = found.e_value(scale.unit_margin(self.margin)) if share is None else ratio.e_value
        certified, most = exceeds and not stated["doubts"], scale.improvement(found.most)
        better = certified and share is None and self.margin == 0.0
        return Improvement(
            policy=claim.policy, over=self.over[0], estimate=scale.improvement(found.estimate), lower=low, upper=high,
            terms_mean=scale.improvement(found.terms_mean), margin=float(self.margin), certified=certified,
            e_value=evidence, p_value=p_value(evidence), improvement_range=(-most, most), provenance=found.place.provenance,
            relative_lower=ratio.lower, relative_upper=ratio.upper, relative_margin=share, relative_note=ratio.note,
            relative_doubt=ratio_doubt(self.declaration, found.sums, share=found.delta / self.delta) if told else "",
            tipping_factor=found.tipping_factor if better else None, measured=found.measured, **stated,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ImprovementQuestion(ImprovementsQuestion):
    """One policy compared with one other."""

    kind: ClassVar[str] = "compare"
    takes_one: ClassVar[bool] = True

    def check_fields(self) -> None:
        if len(self.policies) != 1:
            raise UsageError(f"compare takes one policy, but was given {len(self.policies)}; use select for several.")
        super().check_fields()

    @property
    def policy(self) -> str:
        return next(iter(self.policies))

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        return self.improvement(found[self.policy])


def _check_over(over: Any, policies: Mapping[str, Policy]) -> None:
    if not (isinstance(over, tuple) and len(over) == 2 and hasattr(over[1], "probabilities")):
        raise UsageError(f"over must be a name with its policy, but is {printed(over)}.")
    if over[0] in policies:
        what = "production" if over[0] == PRODUCTION else repr(over[0])
        raise UsageError(f"{what} would be compared with itself; name another policy in over=, or give both names.")
