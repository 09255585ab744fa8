"""Which of several policies is sure to be worth most?"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from surelift.results.evaluation import PolicyValue
from surelift.results.provenance import Provenance
from surelift.results.several import Several
from surelift.views.figures import Intervals
from surelift.views.formats import quoted
from surelift.views.text import certifies, doubt_lines, figure_lines, lines


@dataclass(frozen=True, slots=True, repr=False)
class ValueSelection(Several[PolicyValue]):
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
    held_in: ClassVar = "policies"

    def sentence(self) -> str:
        value = self[self.chosen]
        worth, extreme = "worth", "largest lower bound"
        if value.kind == "cost":
            worth, extreme = "a cost of", "smallest upper bound"
        sure = f"{worth} {value.amount}, the {extreme} of {len(self.policies)} policies."
        if self.chosen == "production":
            return f"Keep production: {sure}"
        return f"Choose {quoted(self.chosen)}: {sure} That it is better than production is not certified."

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
        return self.first.figure_of(
            replace(value.interval(name), verdict="chosen" * (name == self.chosen)) for name, value in self.policies.items()
        )

    def record_of(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "chosen": name == self.chosen}
