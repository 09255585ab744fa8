"""Which of several policies should replace production, if any?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from surelift.errors import UsageError
from surelift.evidence import discoveries
from surelift.questions.improvement import ImprovementsQuestion
from surelift.questions.question import Place
from surelift.results.improvement import Improvement
from surelift.results.selection import Many, Selection
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class SelectionQuestion(ImprovementsQuestion):
    kind: ClassVar[str] = "select"
    many: Many = "simultaneous"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.many not in ("simultaneous", "e-bh"):
            raise UsageError(f"many must be 'simultaneous' or 'e-bh', but is {self.many!r}.")
        if self.many == "e-bh" and not self.method.bound.certifies:
            raise UsageError(
                f"many='e-bh' needs e-values, and method {self.method.name!r} gives none; use method='mixture'."
            )

    def result(self, sums: Sums, place: Place) -> Selection:
        # The winner is chosen by looking, so every candidate is bounded at delta / candidates: all bounds hold at once.
        share = replace(place, delta=place.delta / len(self.policies))
        return selection_of(self.improvements(sums, share), many=self.many, delta=place.delta)


def selection_of(improvements: Mapping[str, Improvement], *, many: Many, delta: float) -> Selection:
    """Choose among improvements that were bounded at delta divided by their number."""
    first = next(iter(improvements.values()))
    if many == "e-bh":
        # A candidate under a doubt brings no evidence, and still counts among those that were tried.
        evidence = {name: 0.0 if result.doubts else result.e_value for name, result in improvements.items()}
        better = discoveries(evidence, rate=delta)
    else:
        better = tuple(name for name, result in improvements.items() if result.certified)
    best = max(better, key=lambda name: improvements[name].lower, default=None) if many == "simultaneous" else None
    used = {result.control for result in improvements.values()}
    return Selection(
        chosen=best, discoveries=better, over=first.over, many=many, improvements=improvements, delta=float(delta),
        margin=first.margin, rounds=first.rounds, method=first.method,
        control=used.pop() if len(used) == 1 else "mixed",
        assumptions=tuple(dict.fromkeys(text for result in improvements.values() for text in result.assumptions)),
        doubts=tuple(dict.fromkeys(text for result in improvements.values() for text in result.doubts)),
        provenance=first.provenance,
    )  # fmt: skip
