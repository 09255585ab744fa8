"""Which of several policies should replace production, if any, or is sure to be worth most?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from surelift.results.evaluation import PolicyValue
from surelift.results.improvement import Improvement
from surelift.results.provenance import Provenance
from surelift.results.result import Result
from surelift.results.several import Several
from surelift.views.figures import Intervals
from surelift.views.formats import baseline_name, decimals_for, quoted, rounded
from surelift.views.text import certifies, doubt_lines, figure_lines, lines, some

Many = Literal["e-holm", "simultaneous", "e-bh"]


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Several[Improvement]):
    """The policy with the largest certified improvement, or None: keep production."""

    chosen: str | None
    """The certified one with the largest lower bound, by e-Holm with the largest one on its own, shown or not. Never set
    where ``many`` is "e-bh": a false discovery rate does not certify any single policy."""
    discoveries: tuple[str, ...]
    """The policies found to be better: all certified at once, or with a false discovery rate of at most delta."""
    over: str
    many: Many
    improvements: Mapping[str, Improvement]
    """Improvements by name; all lower bounds hold at once: each at delta divided by their number, or together by e-Holm."""
    delta: float
    """The probability that any lower bound fails, or any candidate is falsely certified; under "e-bh" also the expected
    share of false discoveries."""
    margin: float
    rounds: int
    method: str
    control: str
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    provenance: Provenance = field(compare=False)

    title: ClassVar = "Which one is better?"
    derived: ClassVar = ("certified",)
    held_in: ClassVar = "improvements"

    @property
    def certified(self) -> bool:
        return self.chosen is not None

    def sentence(self) -> str:
        over = baseline_name(self.over)
        if self.many == "e-bh" and not self.discoveries:
            return f"No discovery: no candidate is found better than {over}."
        if self.many == "e-bh":
            rate = f"with a false discovery rate of at most {self.delta:g} (e-BH)"
            names = ", ".join(some(map(quoted, self.discoveries), "candidates"))
            return f"Found better than {over}: {names}, {rate}. This does not certify any single candidate."
        if self.chosen is None:
            return f"Keep {over}: no candidate is certified better."
        chosen = self[self.chosen]
        lower = chosen.lower if chosen.relative_margin is None else chosen.relative_lower
        if self.many == "simultaneous" or lower != chosen.asked_margin:
            return f"Choose {quoted(self.chosen)}: {self.amount}."
        # It is certified to exceed the margin, by no certified amount.
        best = f" Of {len(self.discoveries)} certified, its own lower bound, not shown, is the largest."
        return f"Choose {quoted(self.chosen)}: {chosen.claim_over}.{best if len(self.discoveries) > 1 else ''}"

    @property
    def amount(self) -> str:
        """How much better the chosen one is, or how little worse."""
        assert self.chosen is not None
        chosen, over = self[self.chosen], baseline_name(self.over)
        if chosen.relative_margin is None:
            decimals = max(decimals_for(each.upper - each.lower) for each in self.improvements.values())
            bound = rounded(chosen.lower, decimals, towards="down")
        else:
            bound = f"{rounded(100.0 * (chosen.relative_lower or 0.0), 1, towards='down')}%"
        if bound.startswith("-"):
            return f"worse than {over} by at most {bound[1:]}, within the margin of {chosen.amount_of_margin.lstrip('-')}"
        return f"better than {over} by at least {bound}"

    def text(self) -> str:
        by_holm = self.many == "e-holm"
        unmeasured = by_holm and 0 < len(self.discoveries) < len(self.improvements)
        amount = "By how much is not bounded here: the option 'many' does that if set to 'simultaneous' before looking."
        return lines(
            f"Improvements over {baseline_name(self.over)}, {self.rounds:,} {self.first.counted}",
            figure_lines(self.figure()),
            self.together(", by e-Holm" if by_holm else ""),
            amount if unmeasured else "",
            doubt_lines(self.doubts),
            self.sentence(),
        )

    def parts(self) -> Iterable[Result]:
        return self.improvements.values()

    def bounded(self) -> Mapping[str, Improvement]:
        return self.improvements

    def figure(self) -> Intervals:
        rows = [improvement.interval(name) for name, improvement in self.improvements.items()]
        if self.many == "e-bh":
            found, verdicts = set(self.discoveries), {True: "found better", False: "not found"}
            rows = [replace(row, verdict=verdicts[row.name in found], certified=row.name in found) for row in rows]
        return self.first.figure_of(rows, chosen=self.chosen)

    def lead(self) -> tuple[str, ...]:
        rate = f"The false discovery rate is at most {self.delta:g}; no single candidate is certified."
        return f"{self.rounds:,} {self.first.counted}.", rate if self.many == "e-bh" else self.together()

    def records(self) -> list[dict[str, Any]]:
        found = set(self.discoveries)
        records = zip(self.improvements, Several.records(self), strict=True)
        return [{**record, "discovered": name in found, "chosen": name == self.chosen} for name, record in records]


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
    """The values by name; each is bounded at delta divided by their number, on the side that counts."""
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
