"""Probabilities by Monte Carlo: of m draws from a policy, k took the logged action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surelift.arrays import FloatArray
from surelift.errors import UsageError, whole
from surelift.logs import faults

if TYPE_CHECKING:
    from surelift.logs.rows import Rows

FRESH = (
    "the m draws of each round were made for it alone, from {whose}, their number fixed beforehand, and "
    "independently of the logged action, its reward and any other draws"
)
PLAYED_AMONG = (
    "the m draws of each round were made for it alone, from production as it was at the decision, their number fixed "
    "beforehand, and the logged action is one of them, picked without looking at the others (no majority vote)"
)


@dataclass(frozen=True, slots=True)
class Wins:
    k: str
    m: str | int
    includes_played: bool = False

    def __post_init__(self) -> None:
        problem = ""
        if not isinstance(self.k, str):
            problem = f"wins takes a column of counts, k, and m, a column or a number; k is a {type(self.k).__name__}."
        elif self.k == self.m:
            problem = f"wins takes two columns, of k and of m, but both are {self.k!r}."
        elif not isinstance(self.includes_played, bool):
            problem = f"includes_played must be True or False, but is {self.includes_played!r}."
        if problem:
            raise UsageError(problem)
        if not isinstance(self.m, str):
            object.__setattr__(self, "m", whole("m, the number of draws,", self.m, besides=", or a column"))

    def columns(self) -> tuple[str, ...]:
        return (self.k,) if isinstance(self.m, int) else (self.k, self.m)

    @property
    def assumes(self) -> str:
        return PLAYED_AMONG if self.includes_played else FRESH.format(whose="production as it was at the decision")

    def propensity(self, rows: "Rows", subject: str) -> FloatArray:
        r"""Never too small on average: :math:`E[1/\hat q] = (1 - (1 - q)^{m + 1})/q` for m fresh draws, m - 1 for m."""
        k, m = self._counts(rows, subject)
        if not self.includes_played:
            return np.asarray((k + 1.0) / (m + 1.0))
        rows.refuse(subject, faults.WINS_PLAYED, k == 0.0, k)
        return np.asarray(np.maximum(k, 1.0) / m)

    def share(self, rows: "Rows", subject: str) -> FloatArray:
        """k/m, the unbiased probability of a candidate."""
        k, m = self._counts(rows, subject)
        return np.asarray(k / m)

    def _counts(self, rows: "Rows", subject: str) -> tuple[FloatArray, FloatArray]:
        k, m = (
            rows.numbers(of, f"{subject}, column {of!r}")[0] if isinstance(of, str) else np.full(rows.size, float(of))
            for of in (self.k, self.m)
        )
        for counts, column in ((k, self.k), (m, self.m)):
            rows.refuse(f"{subject}, column {column!r}", faults.WINS_WHOLE, counts != np.floor(counts), counts)
        rows.refuse(f"{subject}, column {self.m!r}", faults.WINS_DRAWS, m < 1.0, m)
        rows.refuse(subject, faults.WINS_RANGE, rows.usable & ((k < 0.0) | (k > m)), k)
        return k, np.where(m >= 1.0, m, 1.0)

    def describe(self) -> dict[str, Any]:
        return {"kind": "wins", "k": self.k, "m": self.m, "includes_played": self.includes_played}


def wins(k: str, m: str | int, *, includes_played: bool = False) -> Wins:
    """Counts of draws in place of a probability: of ``m`` draws from a policy, ``k`` took the logged action.

    In ``propensity=``, for a production policy that can draw but cannot tell its probabilities (Thompson sampling, an
    ensemble), the propensity is (k + 1)/(m + 1), which makes no weight too large on average. As a policy, it is a
    candidate's k/m.

    >>> wins("k", 100).columns()
    ('k',)

    Args:
        k: The column of how many draws took the logged action.
        m: The number of draws: a column or a number, fixed beforehand.
        includes_played: The logged action is itself one of the m draws; the propensity is then k/m.
    """
    return Wins(k, m.item() if isinstance(m, np.generic) else m, includes_played)


def wins_from(description: Mapping[str, Any]) -> Wins:
    return Wins(**{name: value for name, value in description.items() if name != "kind"})
