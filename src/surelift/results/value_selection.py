"""Which policy is sure to be worth most?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import PolicyValue, value_label
from surelift.results.provenance import Provenance
from surelift.results.result import Result
from surelift.views.figures import Intervals
from surelift.views.names import quoted
from surelift.views.numbers import decimals_for, rounded
from surelift.views.text import certifies, doubt_lines, figure_lines, lines


@dataclass(frozen=True, slots=True, repr=False)
class ValueSelection(Result):
    """The policy with the largest lower bound on its value (of a cost: the smallest upper bound), production included.

    With probability 1 - delta all these bounds hold at once: the chosen policy is worth at least its own, and its value
    falls short of the best policy's by at most as much as that policy's value exceeds that policy's own bound (the paper,
    Section 5.1 and Proposition 9).
    That it is better than production is not certified.
    """

    chosen: str
    """``"production"`` means: keep it."""
    policies: Mapping[str, PolicyValue]
    """By name; each is bounded at delta divided by their number, on the side that counts."""
    delta: float
    rounds: int
    method: str
    control: str
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    provenance: Provenance = field(compare=False)

    title: ClassVar = "Which one is sure to be worth most?"

    @property
    def first(self) -> PolicyValue:
        return next(iter(self.policies.values()))

    def __getitem__(self, policy: str) -> PolicyValue:
        return self.policies[policy]

    def sentence(self) -> str:
        bound, low = self._bound(self.chosen), self.first.kind == "reward"
        words = f"worth at least {bound}" if low else f"a cost of at most {bound}"
        extreme = "largest lower bound" if low else "smallest upper bound"
        if self.chosen == "production":
            return f"Keep production: {words} per round, the {extreme} of {len(self.policies)} policies."
        return (
            f"Choose {quoted(self.chosen)}: {words} per round, the {extreme} of {len(self.policies)} policies. That it is "
            "better than production is not certified."
        )

    def _bound(self, policy: str) -> str:
        value = self.policies[policy]
        if value.lower is not None:
            return rounded(value.lower, decimals_for(value.value_range[1] - value.lower), towards="down")
        assert value.upper is not None
        return rounded(value.upper, decimals_for(value.upper - value.value_range[0]), towards="up")

    def text(self) -> str:
        worse = "value falls short of" if self.first.kind == "reward" else "cost exceeds"
        close = f"With that probability, its {worse} the best policy's by no more than that differs from its own bound."
        return lines(
            self.first.heading(),
            figure_lines(self.figure()),
            doubt_lines(self.doubts),
            self.sentence(),
            close if certifies(self.first.promise) else "",
        )

    def figure(self) -> Intervals:
        kind = self.first.kind
        rows = (
            replace(value.interval(name), verdict="chosen" * (name == self.chosen)) for name, value in self.policies.items()
        )
        return Intervals(value_label(kind), tuple(rows), cost=kind == "cost")

    def lead(self) -> tuple[str, ...]:
        return self.first.lead()

    def records(self) -> list[dict[str, Any]]:
        return [
            {**record, "chosen": name == self.chosen} for name, value in self.policies.items() for record in value.records()
        ]
