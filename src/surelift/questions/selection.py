"""Which of several policies should replace production, if any?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, get_args

from surelift.bounds import Promise
from surelift.errors import UsageError, printed
from surelift.evidence import discoveries, e_holm_levels, e_value
from surelift.policies.policy import Production
from surelift.policies.resolve import PRODUCTION
from surelift.questions.claims import BoundedClaim, Place
from surelift.questions.improvement import ImprovementsQuestion
from surelift.questions.value import ValueQuestion
from surelift.results.improvement import Improvement, JointImprovement
from surelift.results.selection import Many, Selection, ValueSelection
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class SelectionQuestion(ImprovementsQuestion):
    """Every candidate is bounded at its share of delta: the winner is chosen by looking, so all bounds must hold at once."""

    kind: ClassVar[str] = "select"
    many: Many | None = None
    """How the candidates share delta; e-Holm by default, where there are several and the method has e-values."""

    def check_fields(self) -> None:
        super().check_fields()
        bound = self.method.bound
        if self.many is None:
            # Of one candidate e-Holm says what its bound says, which holds under drift too.
            joint = bound.certifies and not bound.in_blocks and len(self.policies) > 1
            object.__setattr__(self, "many", "e-holm" if joint else "simultaneous")
        if self.many not in get_args(Many):
            raise UsageError(f"many must be 'e-holm', 'simultaneous' or 'e-bh', but is {printed(self.many)}.")

    @property
    def own_features(self) -> frozenset[str]:
        return super().own_features | {f"many={self.many!r}", *(("e-values",) if self.many != "simultaneous" else ())}

    @property
    def promise(self) -> Promise:
        """Which candidates are better may change between looks, and e-Holm is proved for a set that does not."""
        promised = super().promise
        return "one look" if self.many == "e-holm" and promised == "any number of looks" else promised

    @property
    def _steady(self) -> str:
        """What e-Holm assumes beside its bounds."""
        looks = super().promise == "any number of looks"
        return (
            f"{self.declaration.counted} are independent, so that they do not decide which candidates are better: "
            f"production did not adapt to what it saw{'; where nothing drifts either, more looks do no harm' * looks}"
        )

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Selection:
        assert self.many is not None
        alone = self.improvements(found)
        if self.many != "e-holm":
            return selection_of(alone, many=self.many, delta=place.delta)
        evidence = {name: 0.0 if one.doubts else one.e_value for name, one in alone.items()}
        levels = e_holm_levels(evidence, delta=place.delta)
        if self.relative_margin is None:
            own = {name: self._lower(found[name], alone[name], levels[name]) for name in alone}
            certified = {name: bound > self.margin and not alone[name].doubts for name, bound in own.items()}
        else:
            certified = {name: evidence[name] * level >= 1.0 for name, level in levels.items()}
            own = {name: self.relative_margin if certified[name] else _judged(one) for name, one in alone.items()}
        together = {
            name: JointImprovement(
                **{item.name: getattr(one, item.name) for item in fields(one)}
                | self._shown(one, own[name], certified)
                | {"certified": certified[name], "delta": place.delta, "assumptions": (*one.assumptions, self._steady)},
                e_value_needed=1.0 / levels[name],
            )
            for name, one in alone.items()
        }
        # All that are certified have one level, so that their own bounds can be compared; and any of them may be chosen.
        best = max(
            (name for name in together if certified[name]), key=lambda name: (_judged(together[name]), own[name]),
            default=None,
        )  # fmt: skip
        return replace(selection_of(together, many=self.many, delta=place.delta), chosen=best)

    def _shown(self, one: Improvement, own: float, certified: Mapping[str, bool]) -> dict[str, Any]:
        r"""What e-Holm bounds beside what it certifies; ``own`` is the bound at its own level.

        To certify one is to reject "at most the margin". What else may be said follows by partitioning: a point of the
        parameter space whose improvements :math:`\Delta_i`, i in I, do not exceed the margin is refuted where the mean of
        :math:`e_i(\Delta_i)` reaches 1/delta. Each falls in :math:`\Delta_i`, so of those points in which k improves by c,
        the last to be refuted has the others at the margin, and k is refuted up to the c at which :math:`e_k(c)` is one
        over its level: its own bound at that level, as far as the margin. Beyond it only the point in which all exceed the
        margin is left, where no test was spent: if all are certified, so are the bounds at delta / candidates.

        A margin in per cent is judged by ratios likewise. Bounds in the other unit are made at delta / candidates: they hold
        together, as a statement of their own.
        """
        share = self.relative_margin
        margin = float(self.margin) if share is None else share
        shown = max(_judged(one), margin) if all(certified.values()) else min(own, margin)
        if share is None:
            return {"lower": shown, "estimate": max(one.estimate, shown)}
        return {"relative_lower": None if math.isinf(shown) else shown}

    def _lower(self, found: BoundedClaim, alone: Improvement, level: float) -> float:
        """Its bound at a level of at least delta / candidates; at that, where its upper bound would contradict it."""
        bound = self.declaration.scale.width * found.lower_at(level)
        return max(bound, alone.lower) if min(bound, self.margin) <= alone.upper else alone.lower


def _judged(one: Improvement) -> float:
    """The lower bound that is held against the margin."""
    if one.relative_margin is None:
        return one.lower
    return -math.inf if one.relative_lower is None else one.relative_lower


def selection_of(improvements: Mapping[str, Improvement], *, many: Many, delta: float) -> Selection:
    """Choose the largest lower bound of those that are certified; under e-BH, list what was found."""
    first = next(iter(improvements.values()))
    if many == "e-bh":
        # A candidate under a doubt brings no evidence, and still counts among those that were tried.
        evidence = {name: 0.0 if result.doubts else result.e_value for name, result in improvements.items()}
        better = discoveries(evidence, rate=delta)
    else:
        better = tuple(name for name, result in improvements.items() if result.certified)
    best = None if many == "e-bh" else max(better, key=lambda name: _judged(improvements[name]), default=None)
    used = {result.control for result in improvements.values()}
    return Selection(
        chosen=best, discoveries=better, over=first.over, many=many, improvements=improvements, delta=float(delta),
        margin=first.margin, rounds=first.rounds, method=first.method,
        control=used.pop() if len(used) == 1 else "mixed",
        assumptions=tuple(dict.fromkeys(text for result in improvements.values() for text in result.assumptions)),
        doubts=tuple(dict.fromkeys(text for result in improvements.values() for text in result.doubts)),
        provenance=first.provenance,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ValueSelectionQuestion(ValueQuestion):
    """The policy whose value has the largest lower bound, production among them: the selection of the paper."""

    kind: ClassVar[str] = "select by value"

    def check_fields(self) -> None:
        # A cost has its best value at the bottom: there the upper bounds are compared.
        object.__setattr__(self, "sides", "upper" if self.declaration.scale.is_cost else "lower")
        object.__setattr__(self, "policies", {**self.policies, PRODUCTION: Production()})

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> ValueSelection:  # type: ignore[override]
        """With one smoothing the largest bound belongs to the largest estimate, the paper's choice, also at the floor."""
        values = super().result(found, sums, place)
        bounds = {name: value.lower if value.upper is None else -value.upper for name, value in values.items()}
        # At the bottom of the range all bounds are equal, but not the evidence for more.
        evidence = {name: e_value(0.0, one.sums.of(one.claim.low)) for name, one in found.items()}
        ranked = {name: (bounds[name], evidence[name], name == PRODUCTION) for name in values}
        return ValueSelection(
            chosen=max(values, key=lambda name: ranked[name]), policies=values.results, delta=place.delta,
            rounds=sums.units, method=values.method, control=values.control,
            assumptions=tuple(values.all_of("assumptions")), doubts=tuple(values.all_of("doubts")),
            provenance=place.provenance,
        )  # fmt: skip
