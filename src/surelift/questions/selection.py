"""Which of several policies should replace production, if any?"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, get_args

from surelift.bounds import Promise
from surelift.errors import UsageError
from surelift.evidence import discoveries, e_holm_levels, e_value
from surelift.policies.resolve import PRODUCTION
from surelift.policies.wrappers import Production
from surelift.questions.improvement import ImprovementsQuestion
from surelift.questions.options import check_delta
from surelift.questions.question import Place
from surelift.questions.value import ValueQuestion
from surelift.results.improvement import Improvement, JointImprovement
from surelift.results.selection import Many, Selection
from surelift.results.value_selection import ValueSelection
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class SelectionQuestion(ImprovementsQuestion):
    kind: ClassVar[str] = "select"
    many: Many | None = None
    """By default e-Holm, for several candidates by a method with e-values."""

    def __post_init__(self) -> None:
        super().__post_init__()
        certifies, in_blocks = self.method.bound.certifies, self.method.bound.in_blocks
        if self.many is None:
            # Of one candidate e-Holm says what its bound says, which holds under drift too.
            stated = "e-holm" if certifies and not in_blocks and len(self.policies) > 1 else "simultaneous"
            object.__setattr__(self, "many", stated)
        if self.many == "e-holm" and in_blocks:
            raise UsageError(
                "many='e-holm' judges each candidate by the evidence for the others, but bets in blocks aim at a level that "
                "is fixed before; use many='simultaneous', or method='mixture'."
            )
        if self.many not in get_args(Many):
            raise UsageError(f"many must be 'e-holm', 'simultaneous' or 'e-bh', but is {self.many!r}.")
        if self.many != "simultaneous" and not certifies:
            raise UsageError(
                f"many={self.many!r} needs e-values, and method {self.method.name!r} gives none; use method='mixture'."
            )

    @property
    def promise(self) -> Promise:
        """Which candidates are better may change between looks, and e-Holm is proved for a set that does not."""
        promised = super().promise
        return "one look" if self.many == "e-holm" and promised == "any number of looks" else promised

    @property
    def in_per_cent(self) -> bool:
        """Not by e-Holm, whose bounds hold together and leave nothing for others."""
        return self.many != "e-holm" and super().in_per_cent

    @property
    def _steady(self) -> str:
        """What e-Holm assumes beside its bounds."""
        looks = super().promise == "any number of looks"
        return (
            f"{self.declaration.counted} are independent, so that they do not decide which candidates are better: "
            f"production did not adapt to what it saw{'; where nothing drifts either, more looks do no harm' * looks}"
        )

    def result(self, sums: Sums, place: Place) -> Selection:
        assert self.many is not None
        # The winner is chosen by looking, so every candidate is bounded at delta / candidates: all bounds hold at once.
        alone = self.improvements(sums, replace(place, delta=place.delta / len(self.policies)))
        if self.many != "e-holm":
            return selection_of(alone, many=self.many, delta=place.delta)
        evidence = {name: 0.0 if one.doubts else one.e_value for name, one in alone.items()}
        levels = e_holm_levels(evidence, delta=place.delta)
        own = {name: self._lower(name, alone[name], levels[name], sums, place) for name in alone}
        together = self._together(alone, own, levels, place)
        # All that are certified have one level, so that their own bounds can be compared; and any of them may be chosen.
        certified = [name for name, one in together.items() if one.certified]
        best = max(certified, key=lambda name: (together[name].lower, own[name]), default=None)
        return replace(selection_of(together, many=self.many, delta=place.delta), chosen=best)

    def _together(
        self, alone: Mapping[str, Improvement], own: Mapping[str, float], levels: Mapping[str, float], place: Place
    ) -> dict[str, JointImprovement]:
        r"""By e-Holm, from improvements that were bounded at delta / candidates, and the bound of each at its own level.

        To certify one is to reject "at most the margin". What else may be said follows by partitioning: a point of the
        parameter space whose improvements :math:`\Delta_i`, i in I, do not exceed the margin is refuted where the mean of
        :math:`e_i(\Delta_i)` reaches 1/delta. Each falls in :math:`\Delta_i`, so of those points in which k improves by c,
        the last to be refuted has the others at the margin, and k is refuted up to the c at which :math:`e_k(c)` is one
        over its level: its own bound at that level, as far as the margin. Beyond it only the point in which all exceed the
        margin is left, where no test was spent: if all are certified, so are the bounds at delta / candidates.
        """
        certified = {name: bound > self.margin and not alone[name].doubts for name, bound in own.items()}
        if all(certified.values()):
            shown = {name: max(one.lower, float(self.margin)) for name, one in alone.items()}
        else:
            shown = {name: min(bound, float(self.margin)) for name, bound in own.items()}
        return {
            name: JointImprovement(
                **{item.name: getattr(one, item.name) for item in fields(one)}
                | {"lower": shown[name], "certified": certified[name], "delta": place.delta}
                | {"estimate": max(one.estimate, shown[name])}
                | {"assumptions": (*one.assumptions, self._steady), "e_value_needed": 1.0 / levels[name]}
            )
            for name, one in alone.items()
        }

    def _lower(self, name: str, alone: Improvement, level: float, sums: Sums, place: Place) -> float:
        """Its bound at a level of at least delta / candidates; at that, where its upper bound would contradict it."""
        gain, _ = self.terms(name, lambda: place.planned or sums.units)
        bound = self.declaration.scale.improvement(self.method.lower_bound(sums, gain, delta=level))
        return max(bound, alone.lower) if min(bound, self.margin) <= alone.upper else alone.lower


def selection_of(improvements: Mapping[str, Improvement], *, many: Many, delta: float) -> Selection:
    """Choose the largest lower bound of those that are certified; under e-BH, list what was found."""
    first = next(iter(improvements.values()))
    if many == "e-bh":
        # A candidate under a doubt brings no evidence, and still counts among those that were tried.
        evidence = {name: 0.0 if result.doubts else result.e_value for name, result in improvements.items()}
        better = discoveries(evidence, rate=delta)
    else:
        better = tuple(name for name, result in improvements.items() if result.certified)
    best = None if many == "e-bh" else max(better, key=lambda name: improvements[name].lower, default=None)
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

    def __post_init__(self) -> None:
        check_delta(self.delta)
        # A cost has its best value at the bottom: there the upper bounds are compared.
        object.__setattr__(self, "sides", "upper" if self.declaration.scale.is_cost else "lower")
        object.__setattr__(self, "policies", {**self.policies, PRODUCTION: Production()})

    def result(self, sums: Sums, place: Place) -> ValueSelection:  # type: ignore[override]
        """With one smoothing the largest bound belongs to the largest estimate, the paper's choice, also at the floor."""
        found = super().result(sums, place)
        bounds = {name: value.lower if value.upper is None else -value.upper for name, value in found.items()}
        # At the bottom of the range all bounds are equal, but not the evidence for more.
        evidence = {name: e_value(0.0, sums.of(self._terms(name, lambda: sums.units)[0])) for name in found}
        ranked = {name: (bounds[name], evidence[name], name == PRODUCTION) for name in found}
        return ValueSelection(
            chosen=max(found, key=lambda name: ranked[name]), policies=found.results, delta=place.delta, rounds=sums.units,
            method=found.method, control=found.control, assumptions=tuple(found.all_of("assumptions")),
            doubts=tuple(found.all_of("doubts")), provenance=place.provenance,
        )  # fmt: skip
