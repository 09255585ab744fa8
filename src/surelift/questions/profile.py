"""What would each single smoothing have given, beside the mixture of them all?"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surelift.questions.improvement import ImprovementQuestion
from surelift.questions.question import Place
from surelift.results.profile import Profile
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ProfileQuestion(ImprovementQuestion):
    kind: ClassVar[str] = "profile"
    margin_in_per_cent: ClassVar[bool] = False
    in_per_cent: ClassVar[bool] = False

    def result(self, sums: Sums, place: Place) -> Any:
        answer = self.improvement(sums, self.policy, place)
        term = self.terms(self.policy, lambda: sums.units)[0]
        term_sums, parts = sums.of(term), term.needed.components
        smoothing, offset = (np.array([getattr(part, name) for part in parts]) for name in ("smoothing", "offset"))
        with np.errstate(over="ignore"):
            alone = np.expm1((term_sums.log_sums - math.log(1.0 / place.delta)) / term_sums.rounds) / smoothing - offset
        bounds = np.maximum(alone, -offset) * self.declaration.scale.width
        order = np.argsort(smoothing)
        return Profile(
            answer.policy, answer.over, answer.estimate, answer.lower, tuple(smoothing[order].tolist()),
            tuple(bounds[order].tolist()), place.delta, answer.rounds, answer.doubts,
            answer.aloud(),
        )  # fmt: skip
