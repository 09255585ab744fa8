"""What would each single smoothing have given, beside the mixture of them all?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from surelift.errors import UsageError
from surelift.questions.claims import BoundedClaim, Place
from surelift.questions.improvement import ImprovementQuestion
from surelift.results.alternatives import Profile
from surelift.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ProfileQuestion(ImprovementQuestion):
    """The smoothings of a mixture, without control."""

    kind: ClassVar[str] = "profile"

    def check_fields(self) -> None:
        super().check_fields()
        if self.method.control not in ("auto", "none"):
            raise UsageError(f"a profile is made without control; remove control={self.method.control!r}.")
        object.__setattr__(self, "method", replace(self.method, control="none"))

    def result(self, found: Mapping[str, BoundedClaim], sums: Sums, place: Place) -> Any:
        bounded = found[self.policy]
        answer, term = self.improvement(bounded), bounded.claim.low
        term_sums, parts = bounded.sums.of(term), term.needed.components
        smoothing, offset = (np.array([getattr(part, name) for part in parts]) for name in ("smoothing", "offset"))
        with np.errstate(over="ignore"):
            alone = np.expm1((term_sums.log_sums - math.log(1.0 / place.delta)) / term_sums.rounds) / smoothing - offset
        bounds = np.maximum(alone, -offset) * self.declaration.scale.width
        order = np.argsort(smoothing)
        return Profile(
            answer.policy, answer.over, answer.estimate, answer.lower, tuple(smoothing[order].tolist()),
            tuple(bounds[order].tolist()), place.delta, answer.rounds, answer.doubts,
            answer.notes,
        )  # fmt: skip
