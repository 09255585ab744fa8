"""Is a policy better than production, or than another, on the same rounds?"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from surelift import capabilities
from surelift.errors import UsageError, exact, is_number, printed
from surelift.evidence import e_value
from surelift.policies import Policy
from surelift.policies.policy import Production
from surelift.policies.resolve import PRODUCTION, check_policies
from surelift.quantities import Decline, Difference, Gain
from surelift.questions.claims import BoundedClaim, Claim, Place
from surelift.questions.drift import ratio_doubt
from surelift.questions.method import RoundCount, slack_of
from surelift.questions.question import Question
from surelift.questions.relative import (
    IN_PER_CENT,
    MOST_IN_PER_CENT,
    NOT_KEPT,
    STEADY_RATIO,
    TIPPING_FACTOR,
    check_relative_margin,
    parse_margin,
)
from surelift.results.improvement import Improvement
from surelift.results.lift import ZERO_IS_NONE, Measured
from surelift.statistics.sums import Sums
from surelift.statistics.weight_table import WeightTable


@dataclass(frozen=True, kw_only=True)
class ImprovementsQuestion(Question):
    """Several policies, each compared with one other: the base of compare, select and what is made of them."""

    over: tuple[str, Policy] = (PRODUCTION, Production())
    margin: Any = 0.0
    """A number, in the units of the reward; given as per cent, such as ``"2%"``, it becomes the relative margin."""
    relative_margin: float | None = None

    def check_fields(self) -> None:
        if isinstance(self.margin, str):
            object.__setattr__(self, "relative_margin", parse_margin(self.margin))
            object.__setattr__(self, "margin", 0.0)
        margin, scale = self.margin, self.declaration.scale
        is_finite = isinstance(margin, float) and math.isfinite(margin)
        if not is_finite and not (is_number(margin) and abs(exact(margin)) <= sys.float_info.max):
            raise UsageError(f"margin must be a finite number, but is {printed(margin)}.")
        if not -scale.width <= margin < scale.width:
            kind = "cost" if scale.is_cost else "reward"
            raise UsageError(
                f"margin is {printed(margin)}, but no improvement can be that large: each {kind} lies in [{scale.low:g}, "
                f"{scale.high:g}]. A margin is in the units of the {kind}; in per cent of production, compare and gate take "
                f"margin='{margin:g}%'."
            )
        if self.relative_margin is not None:
            check_relative_margin(self.relative_margin, is_cost=self.declaration.scale.is_cost)
        over = self.over
        if not (isinstance(over, tuple) and len(over) == 2 and hasattr(over[1], "probabilities")):
            raise UsageError(f"over must be a name with its policy, but is {printed(over)}.")
        check_policies(dict([over]))
        if over[0] in self.policies:
            what = "production" if over[0] == PRODUCTION else repr(over[0])
            raise UsageError(f"{what} would be compared with itself; name another policy in over=, or give both names.")

    @property
    def own_features(self) -> frozenset[str]:
        found = {self.kind, "improvement"}
        if len(self.policies) > MOST_IN_PER_CENT:
            found.add("many candidates")
        if self.relative_margin is not None:
            found |= {"margin in per cent", IN_PER_CENT}
        return frozenset(found)

    @cached_property
    def everyone(self) -> Mapping[str, Policy]:
        """The candidates, and what they are compared with where that is not production."""
        name, baseline = self.over
        return self.policies if isinstance(baseline, Production) else {**self.policies, name: baseline}

    def claims(self, count: RoundCount) -> Mapping[str, Claim]:
        return {name: self.claim(name, count) for name in self.policies}

    def claim(self, name: str, count: RoundCount) -> Claim:
        """The improvement of one policy."""
        other, baseline = self.over
        if isinstance(baseline, Production):
            gain, loss = self.term(name, Gain(), count), self.term(name, Decline(), count)
        else:
            gain, loss = self.term(name, Difference(other), count), self.term(other, Difference(name), count)
        lacking = {wanted: capabilities.reason(self.features, wanted) for wanted in (IN_PER_CENT, TIPPING_FACTOR)}
        tables: tuple[WeightTable, ...] = ()
        if not all(lacking.values()) and 0.0 < gain.needed.offset <= 1.0:
            # One and the same for both sides where every row stands for itself, beside production.
            alike = self.declaration.plain and gain.candidate == loss.candidate
            drop = gain.needed.offset if gain.candidate == loss.candidate else 1.0
            sides = ((end.candidate, drop, None if alike else end.quantity) for end in (gain, loss))
            tables = tuple(WeightTable(*side) for side in sides)
        return Claim(
            name, gain, loss, 0.0, {name: self.policies[name], other: baseline}, self.declaration, self.method,
            no_ratio=lacking[IN_PER_CENT], tables=tables,
        )  # fmt: skip

    def improvements(self, found: Mapping[str, BoundedClaim]) -> dict[str, Improvement]:
        return {name: self.improvement(bounded) for name, bounded in found.items()}

    def improvement(self, found: BoundedClaim) -> Improvement:
        """What a bounded claim says of one candidate."""
        claim, declared, share = found.claim, found.claim.declaration, self.relative_margin
        scale, kind = declared.scale, "cost" if declared.scale.is_cost else "reward"
        low, high = (scale.width * end for end in found.ends)
        ratio, table = found.relative(share)
        bounded, doubt = ratio.lower is not None or ratio.upper is not None, ""
        if bounded and self.declaration.times:
            doubt = ratio_doubt(self.declaration, found.sums, share=found.levels[0] / self.delta)
        # Also where a database did not keep the table: the same question has the same assumptions everywhere.
        besides: tuple[str, ...] = (STEADY_RATIO,) if bounded or ratio.note == NOT_KEPT else ()
        if share is not None:
            besides += (ZERO_IS_NONE.format(kind=kind),)
        stated = self.stated(found, *besides)
        if share is not None and ratio.note == NOT_KEPT:
            raise UsageError(
                f"margin in per cent: {NOT_KEPT}; bring the rows here first, logs.here(), or give the margin in the units "
                "of the reward."
            )
        exceeds = low > self.margin if share is None else ratio.lower is not None and ratio.lower > share
        evidence = ratio.e_value
        if share is None:
            least = self.margin / scale.width + slack_of(found.sums, claim.low)
            evidence = e_value(least, found.sums.of(claim.low), delta=found.levels[0])
        certified, most = exceeds and not stated["doubts"], scale.width * found.most
        better = certified and share is None and self.margin == 0.0
        return Improvement(
            policy=claim.policy, over=self.over[0], estimate=scale.width * found.estimate, lower=low, upper=high,
            terms_mean=scale.width * found.terms_mean, margin=float(self.margin), certified=certified,
            e_value=evidence, p_value=1.0 / max(evidence, 1.0), improvement_range=(-most, most),
            provenance=found.place.provenance,
            relative_lower=ratio.lower, relative_upper=ratio.upper, relative_margin=share, relative_note=ratio.note,
            relative_doubt=doubt,
            tipping_factor=table.tipping_factor(delta=found.levels[0]) if better and table is not None else None,
            measured=Measured(declared.reward.name, kind, declared.unit.sums_up), **stated,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ImprovementQuestion(ImprovementsQuestion):
    """One policy compared with one other."""

    kind: ClassVar[str] = "compare"
    takes_one: ClassVar[bool] = True

    @property
    def policy(self) -> str:
        return next(iter(self.policies))

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        (bounded,) = found.values()
        return self.improvement(bounded)
