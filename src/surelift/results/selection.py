"""Which of several policies should replace production, if any?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from surelift.results.improvement import Improvement, improvements_figure
from surelift.results.provenance import Provenance
from surelift.results.result import Result
from surelift.views.figures import Intervals
from surelift.views.names import baseline_name, quoted
from surelift.views.numbers import decimals_for, plain, rounded
from surelift.views.text import all_hold, doubt_lines, figure_lines, lines, some

Many = Literal["e-holm", "simultaneous", "e-bh"]


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Result):
    """The policy with the largest certified improvement, or None: keep production."""

    chosen: str | None
    """The certified one with the largest lower bound, by e-Holm with the largest one on its own, shown or not. Never set
    where ``many`` is "e-bh": a false discovery rate does not certify any single policy."""
    discoveries: tuple[str, ...]
    """The policies found to be better: all certified at once, or with a false discovery rate of at most delta."""
    over: str
    many: Many
    improvements: Mapping[str, Improvement]
    """By name; all lower bounds hold at once: each is made at delta divided by their number, or all together by e-Holm."""
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

    @property
    def certified(self) -> bool:
        """Whether a policy was chosen."""
        return self.chosen is not None

    @property
    def first(self) -> Improvement:
        return next(iter(self.improvements.values()))

    def __getitem__(self, policy: str) -> Improvement:
        return self.improvements[policy]

    def sentence(self) -> str:
        over = baseline_name(self.over)
        if self.discoveries and self.many == "e-bh":
            rate = f"with a false discovery rate of at most {self.delta:g} (e-BH)"
            names = ", ".join(some(map(quoted, self.discoveries), "candidates"))
            return f"Found better than {over}: {names}, {rate}. This does not certify any single candidate."
        if self.many == "e-bh":
            return f"No discovery: no candidate is found better than {over}."
        if self.chosen is None:
            return f"Keep {over}: no candidate is certified better."
        if self.many == "e-holm" and self._is_unmeasured:
            return self._unmeasured(over)
        return f"Choose {quoted(self.chosen)}: {self.amount}."

    @property
    def _margin(self) -> str:
        """The margin without its sign."""
        share = self.first.relative_margin
        return plain(abs(self.margin)) if share is None else f"{plain(100.0 * abs(share))}%"

    @property
    def _is_unmeasured(self) -> bool:
        """Whether the chosen one is certified to exceed the margin, by no certified amount."""
        chosen = self.improvements[self.chosen or ""]
        return (chosen.lower if chosen.relative_margin is None else chosen.relative_lower) == chosen.asked_margin

    @property
    def amount(self) -> str:
        """How much better the chosen one is, or how little worse."""
        assert self.chosen is not None
        chosen, over = self[self.chosen], baseline_name(self.over)
        if chosen.relative_margin is not None:
            percent = rounded(100.0 * (chosen.relative_lower or 0.0), 1, towards="down")
            better = f"better than {over} by at least {percent}%"
            within = f"worse than {over} by at most {percent.lstrip('-')}%, within the margin of {self._margin}"
            return within if percent.startswith("-") else better
        decimals = max(decimals_for(each.upper - each.lower) for each in self.improvements.values())
        lower = chosen.lower
        bound = rounded(lower, decimals, towards="down")
        if lower < 0.0:
            return f"worse than {over} by at most {bound.lstrip('-')}, within the margin of {plain(-self.margin)}"
        return f"better than {over} by at least {bound}"

    def _unmeasured(self, over: str) -> str:
        """Of a choice that is certified to exceed the margin, by no certified amount."""
        assert self.chosen is not None
        margin = self.first.asked_margin
        much = f" by more than {self._margin}" if margin else ""
        better = f"{'not worse' if margin < 0.0 else 'better'} than {over}{much}"
        best = f" Of {len(self.discoveries)} certified, its own lower bound, not shown, is the largest."
        return f"Choose {quoted(self.chosen)}: {better}.{best if len(self.discoveries) > 1 else ''}"

    def text(self) -> str:
        by_holm = self.many == "e-holm"
        unmeasured = 0 < len(self.discoveries) < len(self.improvements) and by_holm
        amount = "By how much is not bounded here: the option 'many' does that if set to 'simultaneous' before looking."
        return lines(
            f"Improvements over {baseline_name(self.over)}, {self.rounds:,} {self.first.counted}",
            figure_lines(self.figure()),
            f"Together{', by e-Holm' * by_holm}, all lower bounds {all_hold(self.first.promise, self.delta)}.",
            amount if unmeasured else "",
            doubt_lines(self.doubts),
            self.sentence(),
        )

    def parts(self) -> Iterable[Result]:
        return self.improvements.values()

    def bounded(self) -> Mapping[str, Improvement]:
        return self.improvements

    def figure(self) -> Intervals:
        figure = improvements_figure(self.improvements.values(), over=self.over, margin=self.margin)
        figure = replace(figure, chosen=self.chosen)
        if self.many != "e-bh":
            return figure
        found = set(self.discoveries)
        verdicts = [(row, row.name in found) for row in figure.rows]
        rows = (replace(row, verdict="found better" if yes else "not found", certified=yes) for row, yes in verdicts)
        return replace(figure, rows=tuple(rows))

    def lead(self) -> tuple[str, ...]:
        together = f"Together, all lower bounds {all_hold(self.first.promise, self.delta)}."
        if self.many == "e-bh":
            together = f"The false discovery rate is at most {self.delta:g}; no single candidate is certified."
        return f"{self.rounds:,} {self.first.counted}.", together

    def records(self) -> list[dict[str, Any]]:
        found = set(self.discoveries)
        return [
            {**record, "discovered": name in found, "chosen": name == self.chosen}
            for name, improvement in self.improvements.items()
            for record in improvement.records()
        ]
